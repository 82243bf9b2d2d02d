"""How a suite's programs are run, plain and instrumented: environment, limits of time, what they leave behind."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import product

MODES = ("plain", "full")

# What the agent says on stderr of a program that dies; all else must be as it was.
AGENT_LINE = re.compile(r"^recrash: .*\n", re.M)


def environment(reports, **more):
    """As it is here, but nothing of recrash that the caller has set; the agent's reports go to `reports`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRASH_")}
    return {**kept, "RECRASH_DIR": str(reports), "RECRASH_COLLECTOR": str(product.PREFIX / "bin/recrash-collector"), **more}


def no_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_session(session):
    """Kills all that belong to it: ninja and ctest start theirs in process groups of their own."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue


def run(command, folder, environ, seconds, output):
    """Runs it in a session of its own, so that what it started ends with it; what it came to, in words.

    `output` is a file, or two for stdout and stderr apart.
    """
    out, err = output if isinstance(output, tuple) else (output, subprocess.STDOUT)
    with subprocess.Popen(command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                          start_new_session=True, preexec_fn=no_cores) as process:
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            process.wait()
            return "timed out"
        except BaseException:  # we are told to end
            end_session(process.pid)
            raise
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def count_reports(folder):
    """How many reports the agent left; they are removed: hundreds of megabytes after a suite of death tests."""
    reports = sum(1 for _ in pathlib.Path(folder).glob("*.rcr*")) if pathlib.Path(folder).exists() else 0
    shutil.rmtree(folder, ignore_errors=True)
    return reports


def holds_map(file):
    """Whether a program carries the pass's map, which is how to tell that the build used the compiler that it was told."""
    return b"recrash_map\0" in pathlib.Path(file).read_bytes()


def programs(folder):
    """The executables and shared libraries below a build's folder."""
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK) and "CMakeFiles" not in file.parts:
            with file.open("rb") as opened:
                if opened.read(4) == b"\x7fELF":
                    yield file
