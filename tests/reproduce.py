"""Turns a design and a workload into a command line that runs them again."""

import shlex

from cubewave.rtl import Design
from cubewave.workloads import Attention, Gemm, RandomAttention, Sequence
from cubewave.workloads.gemm import RandomGemm

__all__ = ["command_line"]

#: Of choices that are always described.
_DEFAULTS = {"unsigned": False, "a_resident": False, "store_output": True, "accumulate": False,
             "order": "mn", "heads": 1, "causal": False, "resident": False}
#: Described, but not by an option.
_NO_OPTIONS = ("name", "m", "k", "n", "rows", "keys", "head_dim", "seed", "masked", "bias")


def command_line(design, workload, *options):
    """What to type into a shell, from any folder, to run the workload on the design.

    Random operands are told by their seed. Others, masks and given biases are written to .npy
    files first, and a sequence, which the command line does not know, becomes a script that
    prints failed checks.

    Parameters
    ----------
    design : Design
    workload : Gemm, RandomGemm, Sequence, Attention or RandomAttention
    options : str
        More options of `cubewave run`; without any, every level is run and compared.
    """
    if isinstance(workload, Sequence):
        return _python(_sequence_script(design, workload.parts()))
    words = ["cubewave", "run", "attention" if isinstance(workload, Attention) else "gemm"]
    for name, value in design.to_dict().items():
        if value != Design.preset("tiny").to_dict()[name]:
            words += ["-s", f"{name}={_text(value)}"]
    for name, value in _sizes(workload).items():
        words += ["-p", f"{name}={value}"]
    arrays = _arrays(workload)
    for name in arrays:
        words += ["-p", f"{name}={name}.npy"]
    if isinstance(workload, RandomGemm | RandomAttention):
        words += ["--seed", str(workload.seed)]
    for name, value in _choices(workload).items():
        words += ["-p", f"{name}={_text(value)}"]
    prefix = _python("import numpy as np\n" + "\n".join(
        f"np.save({name!r}, {array.tolist()})" for name, array in arrays.items())) + " && "
    return (prefix if arrays else "") + shlex.join([*words, *(options or ["--level", "all"])])


def _text(value):
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _python(script):
    return shlex.join(["python", "-c", script])


def _sizes(workload):
    """The dimensions of random operands."""
    if isinstance(workload, RandomGemm):
        return dict(zip("mkn", workload.shape))
    if isinstance(workload, RandomAttention):
        return {name: getattr(workload.shape, name) for name in ("rows", "keys", "head_dim")}
    return {}


def _arrays(workload):
    """The arrays that are given."""
    if isinstance(workload, Attention):
        names = ("mask",) if isinstance(workload, RandomAttention) else ("q", "k", "v", "mask")
    else:
        names = ("bias",) if isinstance(workload, RandomGemm) else ("a", "b", "bias")
    given = {name: getattr(workload, name) for name in names}
    return {name: array for name, array in given.items()
            if array is not None and not isinstance(array, str)}


def _choices(workload):
    """Every choice that is not the default."""
    described = workload.describe()
    choices = {name: value for name, value in described.items()
               if name not in _NO_OPTIONS and value != _DEFAULTS.get(name)}
    if described.get("bias") == "random":
        choices["bias"] = "random"
    if choices.get("kv_heads") == described.get("heads"):
        choices.pop("kv_heads", None)
    return choices


def _product(workload):
    choices = _choices(workload)
    if isinstance(workload, RandomGemm):
        arguments, kind = [*workload.shape, workload.seed], "RandomGemm"
    else:
        arguments, kind = [workload.a.tolist(), workload.b.tolist()], "Gemm"
    if "bias" in _arrays(workload):
        choices["bias"] = workload.bias.tolist()
    texts = [repr(value) for value in arguments]
    texts += [f"{name}={value!r}" for name, value in choices.items()]
    return f"{kind}({', '.join(texts)})"


def _sequence_script(design, jobs):
    assert all(isinstance(job, Gemm) for job in jobs)
    fields = ", ".join(f"{name}={value!r}" for name, value in design.to_dict().items())
    return "\n".join([
        "from cubewave.rtl import Design",
        "from cubewave.sim import simulate",
        "from cubewave.workloads import Gemm, Sequence",
        "from cubewave.workloads.gemm import RandomGemm",
        f"design = Design({fields})",
        f"workload = Sequence([{', '.join(map(_product, jobs))}])",
        "for level in ('rtl', 'cycle'):",
        "    result = simulate(design, workload, level=level)",
        "    print(level, result.cycles, [check for check in result.checks if not check['ok']])",
    ])
