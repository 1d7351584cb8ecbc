"""Make a BERT checkpoint smaller from Python: half of its heads, and only the words of some texts.

python examples/compress_from_python.py CHECKPOINT LABELLED_ROWS.tsv OUTPUT_FOLDER
"""

import sys

from exporters import Compression, CompressRequest, InputError, compress

if len(sys.argv) != 4:
    sys.exit(__doc__)
checkpoint, rows, output = sys.argv[1:4]
try:
    result = compress(
        CompressRequest(
            checkpoint=checkpoint,
            data=rows,  # heads are chosen by gradients on these rows
            compression=Compression(prune_heads=0.5, prune_vocab=True),
            vocab_data=[rows],  # tokens of these texts stay
            output=output,
        )
    )
except InputError as error:
    sys.exit(str(error))
print(f"{result.parameters_before:,} -> {result.parameters_after:,} parameters in {result.output}")
print(f"heads kept in each layer: {[len(heads) for heads in result.record['heads']['kept']]}")
