"""The program of the folder `program`, built once for each mode, and once without recrash."""

import functools
import hashlib
import os
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent / "program"
ROOT = FOLDER.parents[2]
PREFIX = pathlib.Path(os.environ.get("RECRASH_PREFIX", ROOT / "build/prefix")).resolve()
LLVM = os.environ.get("RECRASH_LLVM_VERSION", "19")
PLAIN = "preload"  # the mode without recrash in the program
# The only warning is that StackOverflow calls itself.
FLAGS = ("-std=c++20", "-O1", "-g", "-w", "-fstack-protector-strong", "-pthread", f"-I{PREFIX}/include")
MAIN = ("main.cc", "ways.cc", "contexts.cc", "surroundings.cc")
LIBRARY = ("ways.cc", "surroundings.cc")


class BuildFailed(Exception):
    """The text has the command and what it said."""


def run(command):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode:
        raise BuildFailed(f"{' '.join(map(str, command))}\n{done.stdout}")


def compiler(mode):
    if mode == PLAIN:
        return [f"clang++-{LLVM}"]
    return [str(PREFIX / "bin/recrash-clang++"), f"-recrash-mode={mode}"]


def key(mode):
    digest = hashlib.sha256(repr((compiler(mode), FLAGS)).encode())
    made_of = [*sorted(FOLDER.iterdir()), *(PREFIX / "lib/recrash").glob("*recrash*"), PREFIX / "bin/recrash-clang++"]
    for file in made_of:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def build(mode, work):
    """Once for each process: cells ask again and again. The folder with `deaths`, `deaths.so` and `launch`; what was built of the same before is kept."""
    if not (PREFIX / "bin/recrash-clang++").exists():
        raise BuildFailed(f"{PREFIX} has no bin/recrash-clang++: run ./dev build, or set RECRASH_PREFIX to an installed recrash")
    folder = work / "builds" / mode
    stamp = folder / "built"
    if stamp.exists() and stamp.read_text() == key(mode):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([*compiler(mode), *FLAGS, *(FOLDER / name for name in MAIN), "-o", folder / "deaths"])
    run([*compiler(mode), *FLAGS, "-fPIC", "-shared", "-DLIBRARY", "-fvisibility=hidden", *(FOLDER / name for name in LIBRARY),
         "-o", folder / "deaths.so"])
    run([f"clang++-{LLVM}", "-O1", FOLDER / "launch.cc", "-o", folder / "launch"])
    stamp.write_text(key(mode))
    return folder
