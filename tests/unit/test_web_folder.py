"""What the page reads of an export folder, in node: whether it asks for a second text."""

import json
import subprocess
from pathlib import Path

import pytest

from exporters.sources.token_file import token_file
from support import web_folders
from support.tiny_models import tiny_tokenizer
from support.tokenizers_elsewhere import NATIVE, WEB, missing


def opened(*folders: Path) -> list[dict]:
    if missing("javascript"):
        pytest.skip(missing("javascript"))
    command = ["node", NATIVE / "open_folder_on_node.mjs", WEB, *folders]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def tokens_folder(folder: Path, *, pairs: bool | None, inputs: tuple[str, ...] = ("ids", "mask")) -> Path:
    folder.mkdir()
    entries = {"inputs": [{"name": name} for name in inputs], "outputs": [{"name": "logits", "dtype": "float32"}]}
    document = token_file(
        files={"model_float32.onnx": entries},
        task="classification",
        labels=["no", "yes"],
        max_seq_len=16,
        inputs=inputs,
        tokenizer=tiny_tokenizer(),
        pairs=pairs,
    )
    (folder / "model.json").write_text(document)
    return folder


def test_the_page_asks_for_a_second_text_unless_the_data_had_none(tmp_path):
    """Also of models without segments, as DistilBERT, MPNet and DeBERTa are."""
    given = {str(pairs): tokens_folder(tmp_path / str(pairs), pairs=pairs) for pairs in (True, False, None)}
    given["segments"] = tokens_folder(tmp_path / "segments", pairs=False, inputs=("ids", "mask", "segments"))
    given["bytes"] = web_folders.bytes_folder(tmp_path / "bytes")
    found = dict(zip(given, (one["takesPairs"] for one in opened(*given.values())), strict=True))
    assert found == {"True": True, "False": False, "None": True, "segments": False, "bytes": False}
