"""A program in one of its builds, in WORK/PROGRAM/BUILD: made once, made anew when the pass is another, linked anew when only
the agent is."""

import hashlib
import json
import os
import shutil
import subprocess

import building
import debian
import variants
from subjects import DRIVERS

SECONDS = 4 * 3600


class BuildFailed(Exception):
    """The text says where and what the build said."""


def digest(*files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Build:
    def __init__(self, work, name, subject, build):
        self.work, self.name, self.subject, self.recipe, self.build = work, name, subject, subject.recipe, build
        self.home = work / name
        self.folder = self.home / build
        self.source = self.home / "source"
        self.executable = self.folder / self.recipe.program
        self.stripped = self.executable.with_name(self.executable.name + ".stripped")  # beside it, where it looks for its files
        self.state_file = self.home / f"{build}.build.json"

    def environment(self):
        """What it is built and run with."""
        cc, cxx, flags = variants.compilers(self.work, self.build)
        places = {"source": self.source, "build": self.folder}
        own = {key: value.format(**places) for key, value in self.recipe.environment.items()}
        # ccache, which some builds take when it is there, knows nothing of a pass that has changed.
        return building.environment(self.home / "reports", CCACHE_DISABLE="1", SRC=str(self.source), DRIVERS=str(DRIVERS), CC=cc, CXX=cxx, FLAGS=flags,
                                    JOBS=os.environ.get("RECRASH_JOBS", "2"), **own)

    def wanted(self):
        """What it is made of: where the first differs it is made anew, where `linked` does, only what is linked."""
        identity = variants.identity(self.work, self.build)
        drivers = sorted(DRIVERS.glob("*.cc")) if "$DRIVERS" in self.recipe.make else []
        mine = [file for file in drivers if file.name in self.recipe.make]
        return {"commands": [self.recipe.version, self.recipe.configure, self.recipe.make], "compiler": identity["compiler"],
                "linked": [identity["agent"], digest(*mine)]}

    def state(self):
        return json.loads(self.state_file.read_text()) if self.state_file.exists() else {}

    def ensure(self, say=lambda text: None):
        wanted, state = self.wanted(), self.state()
        if state == {**wanted, "done": True} and self.stripped.exists():
            return
        say(f"{self.name}: building {self.build}")
        debian.install(self.recipe.needs)
        self.home.mkdir(parents=True, exist_ok=True)
        if self.recipe.package:
            debian.source(self.recipe.package, self.recipe.version, self.source)
        if all(state.get(key) == wanted[key] for key in ("commands", "compiler")):
            if state.get("done"):  # else it was cut off, and goes on
                for program in list(building.programs(self.folder)):
                    program.unlink()
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
        self.state_file.write_text(json.dumps(wanted))
        self.run_script(f"{self.recipe.configure}\n{self.recipe.make}")
        if self.build in variants.OURS and self.build != "second-chance" and not building.holds_map(self.executable):
            raise BuildFailed(f"{self.executable} is not instrumented: its build did not use the compiler that it was given")
        self.stripped.unlink(missing_ok=True)
        subprocess.run(["strip", "-o", self.stripped, self.executable], check=True)
        self.state_file.write_text(json.dumps({**wanted, "done": True}))

    def run_script(self, script):
        log = self.home / f"{self.build}.log"
        with log.open("wb") as output:
            outcome = building.run(["sh", "-ec", script], self.folder, self.environment(), SECONDS, output)
        if outcome != "exit status 0" or not self.executable.exists():
            raise BuildFailed(f"the build in {self.folder} ended with {outcome}; what it said is in {log}")

    def words(self, arguments, out):
        """The arguments of a work, with the folders that they name."""
        places = {"source": self.source, "build": self.folder, "inputs": self.work / "inputs", "out": out}
        return [argument.format(**places) for argument in arguments]
