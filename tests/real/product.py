"""recrash as it is installed: where its parts are, and whether what was made with them is still of today's build."""

import hashlib
import os
import pathlib

PREFIX = pathlib.Path(os.environ.get("RECRASH_PREFIX", "build/prefix")).resolve()
RECRASH = PREFIX / "bin/recrash"

# plain: no instrumentation at all, kept by `recrash run`. second-chance: the report of the second crash, with the
# profile that the first one left. adaptive: the first crash, with no profile.
MODES = ("references", "full", "plain", "second-chance", "adaptive")
RECORDED = ("second-chance", "adaptive")  # with entry states in the report
# Both are the same build: adaptive is a word to the agent.
BUILDS = {mode: "references+second-chance" if mode in RECORDED else mode for mode in MODES}
# A program's twin is built by the same recipe without inlining.
TWIN = "twin"
OPTIONS = {mode: "files=embed,adaptive=1" if mode == "adaptive" else "files=embed" for mode in MODES}


def compilers(build):
    """C and C++ compiler, and the flags that say how to build."""
    if build == "plain":
        return "clang-19", "clang++-19", "-O2 -g -w"
    if build == TWIN:
        return str(PREFIX / "bin/recrash-clang"), str(PREFIX / "bin/recrash-clang++"), "-O0 -fno-inline -g -w"
    return str(PREFIX / "bin/recrash-clang"), str(PREFIX / "bin/recrash-clang++"), f"-O2 -g -w -recrash-mode={build}"


def fingerprint(*parts):
    """A short hash of the named parts of the installed product (folders: all files in them)."""
    digest = hashlib.sha256()
    for part in parts:
        path = PREFIX / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def agent():
    """What is linked into programs."""
    return fingerprint("lib/recrash/librecrash_client.a")


def everything():
    return fingerprint("bin", "lib/recrash")
