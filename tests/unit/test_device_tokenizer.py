"""A tokenizer that the libraries for devices cannot run is named in the report, and `android` and `demo` refuse it."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporters import ExportRequest, export
from exporters.shipped import device_tokenizer
from models_tf.errors import InputError
from support.spiece_files import DEBERTA_TOKENS, deberta_model
from support.tiny_models import write_checkpoint

DEEP = {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": "Nmt"}]}, {"type": "Strip"}]}


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"model": {"type": "BPE"}}, "byte pairs"),
        ({"model": {"type": "Unigram"}, "normalizer": DEEP}, "Nmt"),
        ({"model": {"type": "Unigram"}, "normalizer": {"type": "Strip"}}, ""),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"}}}, ""),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "\\s+"}}}, "a pattern that is replaced"),
        ({"model": 3, "normalizer": {"type": "Sequence", "normalizers": 4}, "pre_tokenizer": []}, ""),
        ({"model": {"type": {}}}, ""),  # what no part is, the reader refuses
    ],
)
def test_the_first_part_that_is_missing_is_named(document: dict[str, Any], what: str) -> None:
    assert device_tokenizer.missing(document) == what


@pytest.mark.parametrize(("settings", "what"), [({}, ""), ({"split_by_punct": True}, "Punctuation")])
def test_what_transformers_saves_for_a_deberta_is_for_apps_or_the_report_says_why_not(
    tmp_path: Path, settings: dict[str, Any], what: str
) -> None:
    transformers = pytest.importorskip("transformers")
    folder = write_checkpoint(tmp_path / "deberta", "deberta-v2", vocab_size=DEBERTA_TOKENS)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "spm.model").write_bytes(deberta_model())
    transformers.DebertaV2Tokenizer.from_pretrained(tmp_path / "theirs", **settings).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    report = export(ExportRequest(checkpoint=folder, quantize="float32", target=("onnx",), output=tmp_path / "out"))
    assert device_tokenizer.missing(json.loads((tmp_path / "out" / "tokenizer.json").read_bytes())) == what
    assert (device_tokenizer.note(what) in report.notes) == bool(what)
    if not what:
        device_tokenizer.check(tmp_path / "out" / "model.json", "android")
        return
    with pytest.raises(InputError, match=rf"android needs a tokenizer .* tokenizer.json has {what}"):
        device_tokenizer.check(tmp_path / "out" / "model.json", "android")
