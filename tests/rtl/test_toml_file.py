"""TOML files of users: what is refused, each in one line."""

import os

import pytest

from cubewave.rtl import Design, DesignError
from cubewave.rtl.toml_file import read_toml


def test_contents(tmp_path):
    (tmp_path / "x.toml").write_text("rows = 3\n[a]\nb = [1, 2]\n")
    assert read_toml(tmp_path / "x.toml") == {"rows": 3, "a": {"b": [1, 2]}}


@pytest.mark.parametrize("text,message", [
    ("rows = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    ("rows = " + "{a = " * 3000 + "1" + "}" * 3000, "nested too deeply"),
    ("rows = " + "9" * 5000, "Exceeds the limit .*"),
    ("rows = ", "Invalid value .*"),
])
def test_invalid_files(tmp_path, text, message):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_toml(path)
    with pytest.raises(DesignError, match=f"^{path}: not valid TOML: {message}$"):
        Design.from_toml(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(OSError, match="not a regular file"):
        read_toml(tmp_path / "x.toml")
