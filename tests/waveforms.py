"""What tests of waveforms read in the files."""

import re

__all__ = ["check_names", "identifier", "numbers", "shown", "tamper", "traces"]


def traces(path):
    """(alias, name, width) of every trace in a save file; scalars have no width."""
    found = re.findall(r"^\+\{([^}]*)\} ([\w.]+)(?:\[(\d+):0\])?$", path.read_text(), re.MULTILINE)
    return [(alias, name, int(high) + 1 if high else None) for alias, name, high in found]


def check_names(recorded):
    """GTKWave drops silently what it does not find."""
    text = recorded.path.read_text()
    found = traces(recorded.path.with_suffix(".gtkw"))
    for _alias, name, width in found:
        variable = recorded.vcd[name]
        assert name.rpartition(".")[2] in text
        if variable.var_type != "string":
            assert int(variable.size) == (width or 1)
    return {name.removeprefix("machine."): alias for alias, name, _width in found}


def identifier(text, name):
    return re.search(rf"\$var \w+ \d+ (\S+) {name} \$end", text)[1]


def tamper(text, name, old, new):
    """The file with one value of a top-level variable changed."""
    code = re.escape(identifier(text, name))
    body = text.index("$enddefinitions")
    changed, count = re.subn(rf"(?m)^{old}( ?){code}$",
                             lambda match: f"{new}{match[1]}{identifier(text, name)}",
                             text[body:], count=1)
    assert count == 1
    return text[:body] + changed


def numbers(recorded, name):
    """Values that a variable takes one after another."""
    return [int(value, 2) for _time, value in recorded.vcd[f"machine.{name}"].tv]


def shown(recorded, name):
    """Texts that a text variable takes one after another; vcdvcd does not read them."""
    text = recorded.path.read_text()
    code = re.escape(identifier(text, name))
    return re.findall(rf"^s(\S+) {code}$", text, re.MULTILINE)
