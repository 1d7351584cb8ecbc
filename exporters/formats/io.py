"""`--io`: the types of features and answers at the border of the files, since not every runtime takes int8.

Features are whole numbers of -128 to 127, so their type changes no answer. Ids, masks and segments are int32 and the
bytes of a text uint8, whatever the type.
"""

FLOAT32, INT32, INT8 = "float32", "int32", "int8"
# Without a choice, features are int8, and answers are what the recipe makes: int8 in .tflite files of the int8 recipes
# (bytes-in files of int8 aside), float32 in all others.
IOS = (FLOAT32, INT32, INT8)


def is_wide(io: str | None) -> bool:
    """Whether features have the type, which is not int8, and all answers are float32."""
    return io in (FLOAT32, INT32)
