"""report.json and its published schema agree, and the schema is strict enough to notice when they do not."""

import copy
import json

import jsonschema
import pytest

from exporters.report.report import FORMAT, REPORT_VERSION, Failure
from support.reports import BAD, SCHEMA, VALIDATOR, make


def values(**changes) -> dict:
    return json.loads(make(**changes).to_json())


def test_the_schema_is_one_and_names_the_version_that_is_written():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["report_version"] == {"const": REPORT_VERSION}
    assert SCHEMA["properties"]["format"] == {"const": FORMAT}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"parity": (BAD,)},
        {"quality": (), "accuracy": (), "latency": (), "inputs": ()},
        {"failures": (Failure(gate="scheme", message="x"),)},
    ],
    ids=["whole", "not finite", "nothing measured", "failed"],
)
def test_reports_are_as_the_schema_says(changes):
    VALIDATOR.validate(values(**changes))


def everything(schema: dict, path: str = "") -> list[str]:
    found = []
    for key, part in schema.items():
        if isinstance(part, dict):
            found += everything(part, f"{path}/{key}")
        if key == "properties" and schema.get("additionalProperties") is not False:
            found.append(path)
    return found


def test_only_the_model_may_have_fields_that_the_schema_does_not_name():
    assert everything(SCHEMA) == ["/properties/model"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda report: report.pop("accuracy"),
        lambda report: report.update(more=1),
        lambda report: report["files"][0].update(sha256="00"),
        lambda report: report["accuracy"][0]["score"].update(interval=[1.0]),
        lambda report: report["quality"][0]["confusion"].update(counts=[[0.5]]),
        lambda report: report.update(report_version=1),
    ],
)
def test_a_report_that_lacks_or_has_more_than_the_schema_says_is_refused(damage):
    report = copy.deepcopy(values())
    damage(report)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(report)


def test_lists_of_numbers_take_one_line():
    text = make().to_json()
    assert '"quartiles_ms": [0.241, 0.262]' in text
    assert '"interval": [83.5, 98.62]' in text
