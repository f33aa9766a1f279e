"""The cache of built machines: two builders, killed and failed builds, its limit."""

import os
import signal
import subprocess
import sys
import time

from cubewave.rtl import Design
from cubewave.sim.backends.compiled import build
from cubewave.sim.backends.compiled.cache import Cache
from cubewave.sim.backends.compiled.compiler import Compiler, find_compiler
from cubewave.sim.backends.compiled.variant import Variant
from cubewave.sim.waves.hierarchy import Depth

BUILDER = """
import sys, time
from pathlib import Path
from cubewave.sim.backends.compiled.cache import Cache

def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    (folder / "first").write_text("1")
    print("building", flush=True)
    time.sleep(float(sys.argv[3]))
    (folder / "second").write_text("2")

entry = Cache(Path(sys.argv[1])).get("key", build)
assert (entry / "first").exists() and (entry / "second").exists()
"""


def builder(cache, log, seconds):
    return subprocess.Popen([sys.executable, "-c", BUILDER, str(cache), str(log), str(seconds)],
                            stdout=subprocess.PIPE, text=True)


def test_two_builders_build_once(tmp_path):
    log = tmp_path / "log"
    builders = [builder(tmp_path / "cache", log, 0.5) for _ in range(3)]
    for process in builders:
        process.communicate()
        assert process.returncode == 0
    assert log.read_text() == "built\n"


def test_a_killed_build_leaves_nothing_that_counts(tmp_path):
    log = tmp_path / "log"
    killed = builder(tmp_path / "cache", log, 60)
    assert killed.stdout.readline() == "building\n"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not Cache(tmp_path / "cache").has("key")
    second = builder(tmp_path / "cache", log, 0)
    second.communicate()
    assert second.returncode == 0
    assert log.read_text() == "built\n" * 2


def test_least_recently_used_entries_go(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBEWAVE_CACHE_MB", "3")
    cache = Cache(tmp_path)

    def build(folder):
        (folder / "data").write_bytes(bytes(1 << 20))

    for number, key in enumerate(("a", "b", "c")):
        entry = cache.get(key, build)
        os.utime(entry, (time.time() - 100 + number,) * 2)
    cache.get("a", build)       # used again
    cache.get("d", build)
    assert [key for key in "abcd" if cache.has(key)] == ["a", "c", "d"]


def test_rebuild_replaces_an_entry(tmp_path):
    cache, count = Cache(tmp_path), []

    def build(folder):
        count.append(1)
        (folder / "data").write_text(str(len(count)))

    for rebuild in (False, False, True):
        entry = cache.get("key", build, rebuild=rebuild)
    assert (entry / "data").read_text() == "2"


COMPILER = """
if [ "$1" = --version ]; then echo "a compiler"; exit 0; fi
echo "main.cc:1: error: no such thing"; echo "1 error generated."; exit 1
"""


def test_a_failing_compiler_shows_its_last_lines_and_the_source(tmp_path):
    (tmp_path / "compiler.sh").write_text(COMPILER)
    environment = {**os.environ, "CUBEWAVE_CACHE_DIR": str(tmp_path / "cache"),
                   "CXX": f"sh {tmp_path}/compiler.sh"}
    ran = subprocess.run([sys.executable, "-m", "cubewave.sim.cli", "run", "gemm", "--backend",
                          "compiled"], env=environment, capture_output=True, text=True)
    assert ran.returncode == 2 and not ran.stdout
    message = ran.stderr.splitlines()[-1]
    assert message.startswith("error: the C++ compiler failed: main.cc:1: error: no such thing | "
                              "1 error generated.; the source is kept in ")
    kept = message.rsplit(" ", 1)[1]
    assert os.path.exists(os.path.join(kept, "main.cc"))
    assert os.path.dirname(kept) == str(tmp_path / "cache" / "failed")


def test_the_key_depends_on_design_variant_compiler_and_flags(monkeypatch):
    compiler = find_compiler()
    keys = {build.build_key(Design.preset(preset), variant, compiler)
            for preset in ("tiny", "edge")
            for variant in (Variant(), Variant("netlist"), Variant(vector=False),
                            Variant(windows=False), *(Variant(depth=depth) for depth in Depth))}
    tiny = Design.preset("tiny")
    keys.add(build.build_key(tiny, Variant(),
                             Compiler(compiler.command, compiler.version + " next")))
    monkeypatch.setenv("CUBEWAVE_CXXFLAGS", "-O1")
    keys.add(build.build_key(tiny, Variant(), compiler))
    assert len(keys) == 16
