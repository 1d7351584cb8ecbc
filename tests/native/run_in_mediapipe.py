"""Runs MediaPipe's TextClassifier on a .tflite file, in an environment that has mediapipe and nothing of this project.

`python run_in_mediapipe.py MODEL` reads a JSON list of texts from stdin and writes one of {label: score} to stdout.
"""

import json
import os
import sys


def main() -> int:
    answer = os.dup(1)
    os.dup2(2, 1)  # MediaPipe prints; stdout belongs to the answer
    from mediapipe.tasks.python import BaseOptions, text

    options = text.TextClassifierOptions(base_options=BaseOptions(model_asset_path=sys.argv[1]))
    found = []
    with text.TextClassifier.create_from_options(options) as classifier:
        for one in json.load(sys.stdin):
            (head,) = classifier.classify(one).classifications
            found.append({category.category_name: category.score for category in head.categories})
    with os.fdopen(answer, "w") as pipe:
        json.dump(found, pipe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
