"""`export-mobile completion`: scripts that shells accept, and that complete commands, flags and names."""

import subprocess

import pytest

from exporters.commands import main as cli
from exporters.commands.completion import SHELLS


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w") as out:
            patch.setattr("sys.stdout", out)
            assert cli.main(["completion", shell]) == 0
    return folder


def complete(script, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    shell = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE};'
        '_shtab_export_mobile export-mobile "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", shell, script, "export-mobile", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_accepts_the_script(scripts):
    subprocess.run(["bash", "-n", scripts / "bash"], check=True)


def test_bash_completes_flags_commands_and_names(scripts):
    script = scripts / "bash"
    assert complete(script, "--mod") == ["--model"]
    assert complete(script, "pro") == ["profile"]
    assert complete(script, "expo") == ["export"]
    assert "mobilebert" in complete(script, "--model", "mob")
    assert complete(script, "--quantize", "fp") == ["fp16"]
    assert complete(script, "train", "--epo") == ["--epochs"]
    assert complete(script, "compress", "--prune-h") == ["--prune-heads"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_a_script_with_every_command_and_flag(scripts, shell):
    text = (scripts / shell).read_text()
    for name in (*cli.COMMANDS, "max-drop", "older-than", "movement-keep"):
        if name != cli.EXPORT:
            assert name in text


@pytest.mark.parametrize("arguments", [[], ["tcsh"]])
def test_an_unknown_shell_is_one_line(arguments, capsys):
    assert cli.main(["completion", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
