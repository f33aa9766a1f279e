"""Cuts the one function that CXXRTL writes into several: compilers take less time for them."""

import re

__all__ = ["STATEMENTS", "split_eval"]

STATEMENTS = 200   # in each function

_HEAD = "bool p_machine::eval(performer *performer) {\n"
_DECLARED = "\tbool eval(performer *performer = nullptr) override;\n"
_PARAMETERS = "const bool posedge_p_clk, bool &converged, performer *performer"
_LOCAL = re.compile(r"\t(value<\d+>) (\w+);$")


def split_eval(text: str) -> str:
    """The C++ of a machine with its `eval` in parts.

    Values that several parts use are kept from part to part, the others are local.
    """
    before, rest = text.split(_HEAD)
    body, after = rest.split("\n}\n", 1)
    locals_, statements = _read(body.split("\n"))
    parts = [statements[start:start + STATEMENTS]
             for start in range(0, len(statements), STATEMENTS)]
    words = [set(re.findall(r"\w+", "\n".join(part))) for part in parts]
    shared = {name for name in locals_ if sum(name in each for each in words) > 1}
    before = _declare(before, len(parts))
    lines = ["struct p_machine::Shared {",
             *(f"\t{locals_[name]} {name};" for name in locals_ if name in shared), "};"]
    for number, (part, used) in enumerate(zip(parts, words)):
        lines += [f"void p_machine::eval_{number}(Shared &shared, {_PARAMETERS}) {{",
                  *(f"\tauto &{name} = shared.{name};" if name in shared else
                    f"\t{kind} {name};" for name, kind in locals_.items() if name in used),
                  *part, "}"]
    calls = [f"\teval_{number}(shared, posedge_p_clk, converged, performer);"
             for number in range(len(parts))]
    return "\n".join([
        f"{before}{lines[0]}", *lines[1:], _HEAD.rstrip("\n"),
        "\tstatic thread_local Shared shared;", "\tbool converged = true;",
        "\tconst bool posedge_p_clk = this->posedge_p_clk();", *calls, "\treturn converged;",
        "}", after])


def _declare(before, count):
    start, end = before.rsplit(_DECLARED, 1)
    return "".join([start, _DECLARED, "\tstruct Shared;\n", *(
        f"\tvoid eval_{number}(Shared &, const bool, bool &, struct performer *);\n"
        for number in range(count)), end])


def _read(lines):
    """Local values with their types, and the statements, each with all its lines."""
    locals_, statements, inside = {}, [], []
    for line in lines:
        found = _LOCAL.match(line)
        if found:
            locals_[found[2]] = found[1]
        elif inside:
            inside.append(line)
            if line == "\t}":   # not "\t} else {"
                statements.append("\n".join(inside))
                inside = []
        elif line.lstrip().startswith("//") or line.startswith((
                "\tbool converged", "\tbool posedge_p_clk", "\treturn converged")):
            continue
        elif line.endswith("{"):
            inside = [line]
        else:
            statements.append(line)
    return locals_, statements
