"""The command in processes of its own: signals, terminals, environments."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cubewave.sim.waves.vcd_parser import VCDVCD

COMMAND = [sys.executable, "-m", "cubewave.sim.cli"]
LONG = ["run", "q-projection", "-p", "m=64", "-p", "k=128", "-p", "n=128"]


def environment(**changes):
    kept = {name: value for name, value in os.environ.items()
            if name not in ("COLUMNS", "FORCE_COLOR", "PYTHONHASHSEED")}
    return {**kept, "PYTHONWARNINGS": "error", **changes}


def hear_ctrl_c():
    """What a shell starts in the background is told to ignore it, and what that starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_f114_same_document_with_any_hash_seed_and_folder(tmp_path):
    runs = []
    for seed in ("0", "1"):
        folder = tmp_path / seed
        folder.mkdir()
        runs.append(subprocess.Popen(
            [*COMMAND, "run", "gemm", "--level", "all", "--vcd", "x.vcd", "--json", "-"],
            cwd=folder, env=environment(PYTHONHASHSEED=seed), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    documents = []
    for run in runs:
        output, errors = run.communicate(timeout=60)
        assert (run.returncode, errors) == (0, "")
        document = json.loads(output)
        for result in document["results"]:
            del result["simulate_seconds"]
        documents.append(json.dumps(document))  # in this order of keys
    assert documents[0] == documents[1]


def test_console_script_and_module_are_the_same_command():
    script = os.path.join(os.path.dirname(sys.executable), "cubewave")
    outputs = [subprocess.run([*command, "--help"], env=environment(), text=True, timeout=60,
                              capture_output=True, check=True).stdout
               for command in ([script], COMMAND)]
    assert outputs[0] == outputs[1] and outputs[0].startswith("Usage: cubewave ")


def test_ctrl_c_leaves_a_valid_waveform(tmp_path):
    path = tmp_path / "x.vcd"
    run = subprocess.Popen([*COMMAND, *LONG, "--vcd", str(path), "--json", "-"],
                           env=environment(), text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, preexec_fn=hear_ctrl_c)
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n#") < 5000:  # times
        assert run.poll() is None and time.monotonic() < deadline, run.communicate()
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    assert (run.returncode, output) == (130, "")
    assert errors.startswith("interrupted at level rtl after ") and errors.count("\n") == 1
    assert errors.endswith(f"; the waveform up to there is {path}\n")
    recorded = VCDVCD(str(path))
    assert recorded.endtime > 0 and recorded.signals
    assert path.with_suffix(".gtkw").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_bar_is_on_the_terminal_only():
    import pty
    reader, terminal = pty.openpty()
    run = subprocess.Popen(
        [*COMMAND, "run", "gemm", "-p", "m=128", "-p", "k=16", "-p", "n=16"],
        stdout=subprocess.PIPE, stderr=terminal, env=environment(TERM="xterm"))
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux says so when the terminal's last user is gone
            break
        if not part:
            break
        shown += part
    os.close(reader)
    output = run.communicate(timeout=60)[0].decode()
    assert run.returncode == 0
    assert b"level rtl" in shown and b"cycles/s" in shown and b"left" in shown
    assert "\x1b" not in output and "checks ok" in output


def test_a_reader_that_leaves_is_no_error():
    run = subprocess.Popen([*COMMAND, "designs", "--json"], env=environment(), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.close()
    assert run.stderr.read() == ""
    run.stderr.close()
    assert run.wait(timeout=60) == 1


def test_the_first_line_is_enough_for_head():
    run = subprocess.run(["sh", "-c", '"$@" | head -1', "sh", *COMMAND, "run", "gemm"],
                         env=environment(), text=True, timeout=60, capture_output=True)
    assert run.stdout.startswith("gemm ") and run.stdout.count("\n") == 1
    assert run.stderr == ""


@pytest.mark.parametrize("closing,status,message", [
    (">&-", 2, "error: stdout is closed; to drop the output send it to /dev/null\n"),
    ("2>&-", 0, ""),
])
def test_closed_streams_are_no_tracebacks(closing, status, message):
    run = subprocess.run(["sh", "-c", f'"$@" {closing}', "sh", *COMMAND, "run", "gemm"],
                         env=environment(), text=True, timeout=60, capture_output=True)
    assert (run.returncode, run.stderr) == (status, message)
    assert run.stdout.endswith(" checks ok\n" if status == 0 else "")


def test_ctrl_c_while_modules_are_loaded_is_one_line():
    run = subprocess.Popen([sys.executable, "-X", "importtime", *COMMAND[1:], "run", "gemm"],
                           env=environment(), text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    for line in run.stderr:
        if line.endswith(" click.exceptions\n"):
            break
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    errors = [line for line in errors.splitlines() if not line.startswith("import time:")]
    assert (run.returncode, output, errors) == (130, "", ["interrupted"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        run = subprocess.run([*COMMAND, "designs"], env=environment(), text=True, timeout=60,
                             stdout=full, stderr=subprocess.PIPE)
    assert run.returncode == 2
    assert run.stderr == "error: output: cannot be written: No space left on device\n"
