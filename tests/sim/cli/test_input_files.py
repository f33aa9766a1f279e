"""Files that are no files, waveforms that are damaged, and options given twice."""

import os

import pytest

PIPES = [
    (("run", "gemm", "--design", "pipe.toml"), "pipe.toml: cannot be read: not a regular file"),
    (("run", "gemm", "--energy", "--energies", "pipe.toml"),
     "--energies pipe.toml: pipe.toml: cannot be read as an energy table: not a regular file"),
    (("run", "gemm", "-p", "a=pipe.toml"), "-p a=pipe.toml: not a file; expected a .npy file"),
    (("run", "topology", "-p", "file=pipe.toml"),
     "-p file=pipe.toml: not a file; expected a topology file (CSV)"),
    (("waves", "pipe.toml"), "pipe.toml: not a regular file; expected a .vcd file"),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("args,message", PIPES)
def test_named_pipes_are_refused_and_not_waited_for(refused, tmp_path, args, message):
    os.mkfifo(tmp_path / "pipe.toml")
    assert refused(*args) == message


@pytest.mark.parametrize("options,name", [
    (("--design", "tiny", "--design", "edge"), "--design"),
    (("--level", "rtl", "--backend", "auto", "--level=cycle"), "--level"),
    (("--seed", "1", "--seed", "1"), "--seed"),
    (("--json", "a.json", "--json", "b.json"), "--json"),
])
def test_an_option_of_one_value_is_given_once(refused, options, name):
    """The last one won without a word."""
    assert refused("run", "gemm", *options) == (
        f"{name}: given more than once, but it takes one value")


def test_options_that_may_be_repeated(cubewave):
    result = cubewave("run", "gemm", "-p", "m=2", "-p", "k=3", "-s", "rows=2", "-s", "cols=2",
                      "--level", "analytic", "--energy", "--energy")
    assert result.exit_code == 0


@pytest.mark.parametrize("args,message", [
    (("run", "gemm", "--vcd", "-"), "--vcd -: must be the name of a file"),
    (("run", "gemm", "--level", "cycle", "--trace", "-"), "--trace -: must be the name of a file"),
    (("model", "roofline", "m=1,2", "--plot", "-"), "--plot -: must be the name of a file"),
])
def test_only_text_goes_to_stdout(refused, args, message):
    """They wrote a file called "-"."""
    assert refused(*args) == message


def test_an_expression_that_takes_forever_is_refused(refused, monkeypatch):
    monkeypatch.setattr("cubewave.sim.waves.name_filter.SECONDS", 0.1)
    assert refused("run", "gemm", "--vcd", "x.vcd", "--vcd-signals", "^(([a-z_.])+)+!$").startswith(
        "vcd signals ^(([a-z_.])+)+!$ takes more than 0.1 s to match a name such as machine.")


DAMAGES = [
    (b"$var wire 1 ", b"$var wire x ", "not a valid VCD file: "),     # a width
    (b"$var wire 48", b"$var wire", "has no signal machine.cycle"),
    (b"\n#1", b"\n#z1", "not a valid VCD file: "),                    # a time
    (b"\n0", b"\n\xff0", "not a valid VCD file: "),                   # a value
]


def test_a_damaged_waveform_is_one_line(cubewave, refused, tmp_path):
    """Some of them ended in a traceback, with half of a save file."""
    path = tmp_path / "x.vcd"
    assert cubewave("run", "gemm", "-p", "m=1", "--vcd", path).exit_code == 0
    contents = path.read_bytes()
    (tmp_path / "x.gtkw").unlink()
    for old, new, message in DAMAGES:
        path.write_bytes(contents.replace(old, new))
        assert refused("waves", path).startswith(f"{path}: {message}")
