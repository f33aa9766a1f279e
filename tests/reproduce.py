"""Turns a design and a workload into a command line that runs them again."""

import shlex

from cubewave.rtl import Design
from cubewave.workloads import Gemm, Sequence
from cubewave.workloads.gemm import RandomGemm

__all__ = ["command_line"]

_DEFAULTS = {"unsigned": False, "a_resident": False, "store_output": True, "accumulate": False,
             "order": "mn"}


def command_line(design, workload, *options):
    """What to type into a shell, from any folder, to run the workload on the design.

    Random operands are told by their seed. Others are written to a.npy and b.npy first, and a
    sequence, which the command line does not know, becomes a script that prints failed checks.

    Parameters
    ----------
    design : Design
    workload : Gemm, RandomGemm or Sequence
    options : str
        More options of `cubewave run`; without any, every level is run and compared.
    """
    if isinstance(workload, Sequence):
        return _python(_sequence_script(design, workload.parts()))
    words = ["cubewave", "run", "gemm"]
    for name, value in design.to_dict().items():
        if value != Design.preset("tiny").to_dict()[name]:
            words += ["-s", f"{name}={_text(value)}"]
    prefix = ""
    if isinstance(workload, RandomGemm):
        for name, value in zip("mkn", workload.shape):
            words += ["-p", f"{name}={value}"]
        words += ["--seed", str(workload.seed)]
    else:
        prefix = _python("import numpy as np\n" + "\n".join(
            f"np.save({name!r}, {getattr(workload, name).tolist()})" for name in "ab")) + " && "
        words += ["-p", "a=a.npy", "-p", "b=b.npy"]
    for name, value in _choices(workload).items():
        words += ["-p", f"{name}={_text(value)}"]
    return prefix + shlex.join([*words, *(options or ["--level", "all"])])


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _python(script):
    return shlex.join(["python", "-c", script])


def _choices(workload):
    """Every choice of a product that is not the default."""
    described = workload.describe()
    return {name: value for name, value in described.items()
            if name not in ("name", "m", "k", "n", "seed") and value != _DEFAULTS.get(name)}


def _product(workload):
    choices = _choices(workload)
    if isinstance(workload, RandomGemm):
        arguments, kind = [*workload.shape, workload.seed], "RandomGemm"
    else:
        arguments, kind = [workload.a.tolist(), workload.b.tolist()], "Gemm"
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
