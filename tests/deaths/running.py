"""Runs the program of a cell in a folder of its own, by `launch`, and gives what it left."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import builds
import matrix

SECONDS = 20  # a program that takes longer hangs
HANGING, DYING = "#!/bin/sh\nexec sleep 1000\n", "#!/bin/sh\nkill -9 $$\n"
TIMEOUT = 1  # seconds for a collector that hangs


class Refused(Exception):
    """The machine does not allow the surroundings; the text says why."""


@dataclasses.dataclass
class Ran:
    folder: pathlib.Path
    end: dict  # exit, signal, core, left, seconds; None: it hung
    output: str
    errors: str

    @property
    def reports(self):
        return sorted(file for file in (self.folder / "reports").glob("*") if file.suffix in (".rcr", ".rcraw"))

    @property
    def places(self):
        """What the program said of its failures before it died, as numbers."""
        found = re.findall(r"^at 0x(\w+), address (\w+) (\w+), process (\d+), thread (\d+)$", self.output, re.MULTILINE)
        return [dict(zip(("at", "low", "high", "process", "thread"), [*(int(word, 16) for word in each[:3]), *map(int, each[3:])]))
                for each in found]

    @property
    def place(self):
        """The first of them; None if it did not come so far."""
        return next(iter(self.places), None)

    @property
    def survived(self):
        """Did the process that was to die end by itself?"""
        child = re.search(r"^child: (\w+)", self.output, re.MULTILINE)
        return (child[1] == "status") if child else self.end["signal"] == 0

    @property
    def said(self):
        """Its output, without what differs from run to run."""
        return re.sub(r"^at .*$", "at", self.output, flags=re.MULTILINE)

    def own_errors(self):
        """stderr without recrash's lines, and those that go on with one."""
        own, ours = [], False
        for line in self.errors.splitlines():
            ours = line.startswith(("recrash: ", "recrash-collector: ")) or (ours and line.startswith("  "))
            if not ours:
                own.append(line)
        return own


def collector(work, surroundings):
    """The value of RECRASH_COLLECTOR, or None for the installed one."""
    if surroundings == "no_collector":
        return "/nonexistent"
    if surroundings not in ("hanging_collector", "dying_collector"):
        return str(builds.PREFIX / "bin/recrash-collector")
    folder = work / "collectors"
    folder.mkdir(exist_ok=True)
    script = folder / surroundings
    text = HANGING if surroundings == "hanging_collector" else DYING
    if not script.exists() or script.read_text() != text:
        new = folder / f"{surroundings}.{threading.get_native_id()}"
        new.write_text(text)
        new.chmod(0o755)
        new.rename(script)
    return str(script)


def environment(cell, work, folder, build, watched):
    options = (["exceptions=main"] if cell.way == "CaughtInMain" else []) + \
        ([f"timeout={TIMEOUT}"] if cell.surroundings == "hanging_collector" else [])
    preload = {"LD_PRELOAD": str(builds.PREFIX / "lib/recrash/librecrash_preload.so")} if watched and cell.mode == builds.PLAIN else {}
    return {"PATH": os.environ["PATH"], "HOME": str(work), "TMPDIR": str(folder / "tmp"), "RECRASH_DIR": str(folder / "reports"),
            "RECRASH_PROFILE": str(folder / "profile"), "RECRASH_COLLECTOR": collector(work, cell.surroundings),
            "RECRASH_OPTIONS": ",".join(options), "DEATHS_LIBRARY": str(build / "deaths.so"),
            **({"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]} if "LD_LIBRARY_PATH" in os.environ else {}), **preload}


def end_hung(process):
    """launch and all that it started: it is the first of its session, and the parent of what is left."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def start(cell, work, folder, build, watched):
    for name in ("run", "tmp", "reports", "profile"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    outer, inner = (cell.surroundings, "usual") if cell.surroundings in matrix.BY_LAUNCH else ("usual", cell.surroundings)
    command = [build / "launch", outer, folder / "answer.json", build / "deaths", cell.way, cell.context, inner, cell.others]
    with open(folder / "output", "wb") as output, open(folder / "errors", "wb") as errors:
        process = subprocess.Popen([str(word) for word in command], cwd=folder / "run", stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=errors, env=environment(cell, work, folder, build, watched), start_new_session=True)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            end_hung(process)
    answer = (folder / "answer.json").read_text()
    end = json.loads(answer) if answer else None
    if end and "refused" in end:
        raise Refused(f"{cell.surroundings}: {end['refused']}")
    return Ran(folder, end, *((folder / name).read_text(errors="replace") for name in ("output", "errors")))
