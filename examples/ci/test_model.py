"""The same as a test: export-mobile brings the fixture. Run it with pytest beside model/, dev.tsv and baseline.json."""


def test_the_model_is_as_good_as_its_baseline(assert_quantized_accuracy):
    result = assert_quantized_accuracy("model", data="dev.tsv", baseline="baseline.json", max_drop=0.5)
    assert all(file.size_bytes <= 200 * 1024 for file in result.files)
