"""Programs that nobody here wrote, built in the ways of builds.py.

Their sources come from Debian, their crashes from tests/real/corpus, and their fixes from tests/real/fixes. One Program is one
crash that has a fix. The crashes of a program share its builds, those with a fix aside.
"""

import collections
import dataclasses
import hashlib
import os
import shutil
import subprocess
import threading

import cases
import debian
import evaluate
import fixes
import product
from programs import PROGRAMS

GROUP = "real"
NAMES = ("tetgen", "probalign", "amap")
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")
LINE = b"// one line more\n"

locks = collections.defaultdict(threading.Lock)  # one build folder is made once


@dataclasses.dataclass(frozen=True)
class Program:
    case: cases.Case
    fix: fixes.Fix
    group = GROUP
    tries = 1
    is_c = changes = False
    text = ""  # nothing in it is marked for another build

    @property
    def name(self):
        return f"{self.case.program}_{self.case.name}"

    @property
    def build_name(self):
        return self.case.program

    @property
    def input_name(self):
        return self.case.name

    @property
    def input(self):
        return self.case.input

    def place_input(self, folder):
        shutil.copy(self.case.input, folder)
        return self.case.arguments()

    def environment(self, folder):
        """`folder`: has a build."""
        places = {"source": folder / "source", "build": folder / "build"}
        made = {key: value.format(**places) for key, value in PROGRAMS[self.case.program].environment.items()}
        return {"RECRASH_OPTIONS": "files=embed", **made}

    def folder_of(self, executable):
        depth = PROGRAMS[self.case.program].program.count("/") + 2
        return [executable, *executable.parents][depth]


def all_programs(inputs):
    """{name: Program}. The inputs are written into a folder."""
    known = {(case.program, case.name): case for case in cases.read(inputs)}
    found = [Program(known[fix.program, fix.input], fix) for fix in fixes.read_fixes() if fix.program in NAMES]
    return {program.name: program for program in found if not program.case.overflow}


def make(program, rebuild, flags, sources, folder):
    """The executable of a Rebuild, below `folder`."""
    if rebuild.fixed:
        folder = folder / program.fix.patch.removesuffix(".patch")
    patch = fixes.FIXES / program.fix.patch if rebuild.fixed else None
    with locks[folder]:
        return build(PROGRAMS[program.case.program], rebuild, flags, sources, folder, patch)


def build(package, rebuild, flags, sources, folder, patch):
    output, stamp, log = folder / "build" / package.program, folder / "built", folder / "log"
    cc, cxx = ("gcc", "g++") if rebuild.compiler == "gcc" else (str(product.PREFIX / "bin" / name) for name in ("recrash-clang", "recrash-clang++"))
    words = [repr(package), cc, *flags, product.agent(), patch.read_text() if patch else ""]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    if output.exists() and stamp.exists() and stamp.read_text() == key:
        return output
    debian.install(package.needs)
    with locks[sources]:
        sources.parent.mkdir(parents=True, exist_ok=True)
        debian.source(package.package, package.version, sources)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    if rebuild.own_folder or rebuild.text or patch:
        sources = shutil.copytree(sources, folder / "source", symlinks=True)
    if rebuild.text:
        add_line(sources)
    if patch:
        run(["patch", "-p1", "--batch", "--no-backup-if-mismatch", "-i", patch], sources, log)
    environment = {**os.environ, "SRC": str(sources), "CC": cc, "CXX": cxx, "FLAGS": " ".join([*flags, "-g", "-w"]),
                   "ASAN_OPTIONS": "detect_leaks=0", "CCACHE_DISABLE": "1"}
    run(["sh", "-e", "-c", f"{package.configure}\n{package.make}"], folder / "build", log, environment)
    stamp.write_text(key)
    return output


def add_line(folder):
    """To the beginning of each source file, the one with the failure among them."""
    for file in folder.rglob("*"):
        if file.suffix in SOURCES and file.is_file() and not file.is_symlink():
            file.write_bytes(LINE + file.read_bytes())


def run(command, folder, log, environment=None):
    with log.open("a") as output:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    if done.returncode:
        raise evaluate.BuildFailed(f"the build in {folder} failed; its output is {log}")
