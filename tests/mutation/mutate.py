"""Put small faults into `rtl/`, one at a time, and see whether the tests notice.

    python tests/mutation/mutate.py rtl/queue.py --count 20

Works on a copy in a temporary directory. Every result is written at once; a second run continues
with the faults that are left. See docs/mutation.md.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import amaranth.back.rtlil
import amaranth.lib.memory
import amaranth.lib.stream
import amaranth.sim  # noqa: F401, loaded once for all runs, like numpy
import numpy  # noqa: F401
import pytest
from faults import faults

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("pyproject.toml", "rtl", "sim", "workloads", "tests")
PACKAGES = ("rtl", "sim", "workloads")
# Tests of a file that has none of its own name.
TESTS = {
    "divider": ("vector_special",), "exponential": ("vector_special",),
    "gelu": ("vector_special",), "vector_special": ("vector_special",),
    "vector_engine": ("vector_unit", "vector_programs"),
    "vector_unit": ("vector_programs", "vector_unit"),
    "vector_lanes": ("vector_unit", "vector_programs"),
    "vector_operands": ("vector_unit",), "vector_storage": ("vector_slot", "vector_unit"),
    "rounding": ("rounding", "vector_alu", "reduction", "handoff_formats"),
    "vector_commands": ("commands", "vector_unit", "handoff"),
    "memory_interface": ("memory_channel",),
    "memory_mover": ("memory_mover", "window_addresses"),
    "memory_timing": ("memory_timing", "memory_cost"),
    "vector_format": ("vector_format", "vector_special"),
    "status": ("commands", "handoff", "array_control", "core"), "presets": ("design",),
    "design_fields": ("design",), "counters": ("counters", "core"),
}
SYSTEM = ("core", "machine", "handoff_machine", "vector_programs")
PAIRS = "tests/sim/cycle/test_random_pairs.py::test_no_difference[0]"
STAGES = ("own", "proofs", "system", "pairs")
LONGEST = 10     # times the duration without a fault: then it hangs
LEAST = 60       # seconds that every run gets


class Plugin:
    """No shrinking: that a test fails is enough. Planted bugs look for the text they replace."""

    def pytest_collection(self):
        from hypothesis import Phase, settings
        settings.register_profile("mutation", deadline=None, database=None,
                                  phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "planted" not in item.name]


class Copy:
    """A copy of the project, whose packages are found before the installed ones."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name,
                                ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, self.folder / name)
        (self.folder / "cubewave").mkdir()
        for name in PACKAGES:
            (self.folder / "cubewave" / name).symlink_to(f"../{name}")
        self._durations = {}

    def tests(self, stage, stem):
        """Arguments for pytest."""
        if stage == "pairs":
            return [PAIRS]
        if stage == "proofs":
            names = [f"tests/proofs/test_{stem}.py"]
        else:
            parts = SYSTEM if stage == "system" else (*TESTS.get(stem, (stem,)), "ports")
            names = [f"tests/rtl/test_{part}.py" for part in parts]
        return [name for name in names if (self.folder / name).is_file()]

    def run(self, tests, seconds):
        """Exit status of pytest in a process of its own; None when it hangs."""
        child = os.fork()
        if not child:
            self._test(tests)
        end = time.monotonic() + seconds
        done = False
        try:
            while time.monotonic() < end:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.05)
        finally:
            if not done:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
        return None

    def _test(self, tests):
        """In the child: never returns."""
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        output = os.open(self.folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self.folder)
        os.environ["PYTHONPATH"] = str(self.folder)
        sys.path.insert(0, str(self.folder))
        status = 3
        try:
            status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], [Plugin()]))
        finally:
            sys.stdout.flush()
            os._exit(status)

    def limit(self, tests):
        """Seconds after which these tests hang; they have to pass without a fault."""
        key = tuple(tests)
        if key not in self._durations:
            begin = time.monotonic()
            status = self.run(tests, 3600)
            if status:
                print((self.folder / "output.txt").read_text()[-3000:])
                raise SystemExit(f"without a fault these fail: {' '.join(tests)}")
            self._durations[key] = time.monotonic() - begin
        return max(LEAST, LONGEST * self._durations[key])

    def failing(self, tests):
        """What notices the fault that is in the copy: a test, a hang, or None."""
        status = self.run(tests, self.limit_of(tests))
        if status is None:
            return "hang"
        if status == 0:
            return None
        lines = (self.folder / "output.txt").read_text(errors="replace").splitlines()
        return next((line.split(" - ")[0].split(" ", 1)[1] for line in reversed(lines)
                     if line.startswith(("FAILED", "ERROR"))), f"exit status {status}")

    def limit_of(self, tests):
        return max(LEAST, LONGEST * self._durations[tuple(tests)])


def try_fault(copy, name, source, fault, stages, record):
    """Run the stages that are left; changes the record."""
    path = copy.folder / name
    stem = Path(name).stem
    runs = [(stage, copy.tests(stage, stem)) for stage in stages
            if stage not in record["passed"]]
    for stage, tests in runs:
        if not tests:
            continue
        copy.limit(tests)  # while the source is whole
        try:
            path.write_bytes(fault.apply(source))
            caught = copy.failing(tests)
        finally:
            path.write_bytes(source)
            for stale in path.parent.glob(f"__pycache__/{stem}.*"):
                stale.unlink()
        if caught:
            record["caught"] = {"stage": stage, "by": caught}
            return
        record["passed"].append(stage)


def chosen(source, seed, count):
    """The same faults for the same source, seed and count; a greater count has them first."""
    found = faults(source)
    random.Random(seed).shuffle(found)
    return found[:count]


def load(path, name, source):
    """Results of earlier runs; those of another source of this file are dropped."""
    results = json.loads(path.read_text()) if path.is_file() else {}
    digest = hashlib.sha256(source).hexdigest()
    if results.get(name, {}).get("sha256") != digest:
        results[name] = {"sha256": digest, "faults": {}}
    return results


def report(results, names):
    """Counts of each file, and the survivors."""
    for name in names:
        records = results.get(name, {"faults": {}})["faults"].values()
        alive = [record for record in records if not record["caught"]]
        print(f"{name}: {len(records)} faults, {len(records) - len(alive)} caught, "
              f"{len(alive)} survive")
        for record in sorted(alive, key=lambda record: record["line"]):
            print(f"  {name}:{record['line']}: {record['text']}  "
                  f"[{' '.join(record['passed'])}]\n      {record['code']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="such as rtl/queue.py")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of faults")
    parser.add_argument("--count", type=int, help="faults of each file; all without it")
    parser.add_argument("--stage", choices=STAGES, default=STAGES[-1], help="the last one to run")
    parser.add_argument("--again", action="store_true", help="only survivors, from `own` on")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no fault after")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutation.json")
    parser.add_argument("--list", action="store_true", help="run nothing: list the faults")
    parser.add_argument("--report", action="store_true", help="run nothing: show the results")
    options = parser.parse_args()
    stages = STAGES[:STAGES.index(options.stage) + 1]
    end = time.monotonic() + 60 * options.minutes
    names = [str(Path(name).resolve().relative_to(ROOT)) for name in options.files]
    if options.list:
        for name in names:
            for fault in chosen((ROOT / name).read_bytes(), options.seed, options.count):
                print(f"{name}:{fault.line}: {fault}")
        return
    if options.report:
        report(json.loads(options.results.read_text()), names)
        return
    options.results.parent.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the copy is removed then, too
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Copy(folder)
        run(copy, names, stages, options, end)
    report(json.loads(options.results.read_text()), names)


def run(copy, names, stages, options, end):
    """A fault of each file, then the next one of each: a run that is cut short is fair."""
    sources = {name: (copy.folder / name).read_bytes() for name in names}
    work = [[(name, fault) for fault in chosen(source, options.seed, options.count)]
            for name, source in sources.items()]
    for name, fault in filter(None, itertools.chain(*itertools.zip_longest(*work))):
        if time.monotonic() > end:
            return
        results = load(options.results, name, sources[name])
        line = sources[name].splitlines()[fault.line - 1].decode().strip()
        key, records = f"{fault.start}-{fault.end}:{fault.new}", results[name]["faults"]
        if options.again and key not in records:
            continue
        record = records.setdefault(key, {"line": fault.line, "text": str(fault), "code": line,
                                          "passed": [], "caught": None})
        if record["caught"] or (set(stages) <= set(record["passed"]) and not options.again):
            continue
        if options.again:
            record["passed"] = []
        begin = time.monotonic()
        try_fault(copy, name, sources[name], fault, stages, record)
        written = options.results.with_suffix(".new")
        written.write_text(json.dumps(results, indent=1))
        written.replace(options.results)
        how = f"caught by {record['caught']['by']}" if record["caught"] else "SURVIVES"
        print(f"{time.monotonic() - begin:5.0f} s  {name}:{fault.line}: {fault}  {how}",
              flush=True)


if __name__ == "__main__":
    main()
