"""The ways in which a program is built and run: ours, and what a person would use instead."""

import dataclasses
import hashlib
import pathlib
import subprocess

import debian
import product
from subjects import DRIVERS

CLANG, CLANGXX = "clang-19", "clang++-19"


@dataclasses.dataclass(frozen=True)
class Variant:
    title: str  # in the tables
    build: str
    environment: dict = dataclasses.field(default_factory=dict)
    ours: bool = False
    counted: str = ""  # why valgrind cannot count its instructions, if it cannot
    valgrind: tuple = ()  # what it must be told besides


@dataclasses.dataclass(frozen=True)
class Tool:
    """Something that takes the plain program as it is, or one of the builds, and runs it slowly: on the small work only."""
    title: str
    build: str
    command: tuple
    package: str
    tiny: bool = False  # not even on the small one
    stripped: bool = False


VARIANTS = {
    "plain": Variant("plain", "plain"),
    "references": Variant("`references`", "references", ours=True),
    "full": Variant("`full`", "full", ours=True),
    "references+second-chance": Variant("`references+second-chance`", "references+second-chance", ours=True),
    "second-chance": Variant("`second-chance`", "second-chance", ours=True),
    "instrument-functions": Variant("`-finstrument-functions`", "instrument-functions"),
    "xray": Variant("XRay, not patched", "xray"),
    "xray-patched": Variant("XRay, patched", "xray", {"BENCH_XRAY_PATCH": "1"},
                            valgrind=("--smc-check=all",)),  # it writes to code that has run
    "asan": Variant("AddressSanitizer", "asan", {"ASAN_OPTIONS": "detect_leaks=0"}, counted="does not run under valgrind"),
}

TOOLS = {
    # 3.19 gives up on clang 19's DWARF 5.
    "memcheck": Tool("valgrind (memcheck)", "plain", ("valgrind", "-q", "--leak-check=no"), "valgrind", stripped=True),
    "uftrace": Tool("uftrace", "plain", ("uftrace", "record", "--no-pager", "-P", ".", "-d", "{out}/uftrace"), "uftrace"),
    "ltrace": Tool("ltrace, calls of libraries only", "plain", ("ltrace", "-o", "/dev/null"), "ltrace"),
    "gdb": Tool("gdb's `record`", "plain", (
        "gdb", "-batch", "-nx", "-ex", "set confirm off", "-ex", "set debuginfod enabled off", "-ex", "set startup-with-shell off",
        "-ex", "break main", "-ex", "run", "-ex", "record full", "-ex", "set record full insn-number-max unlimited", "-ex", "continue",
        "--args"), "gdb", tiny=True),
}

BUILDS = tuple(dict.fromkeys(variant.build for variant in VARIANTS.values()))
OURS = tuple(name for name, variant in VARIANTS.items() if variant.ours)


def compiled(work, source, *flags):
    """An object or program of our own from `drivers`, by plain clang; named by what it was made of."""
    text = (DRIVERS / source).read_bytes() + " ".join(flags).encode()
    file = work / "tools" / f"{pathlib.Path(source).stem}.{hashlib.sha256(text).hexdigest()[:8]}{'.o' if '-c' in flags else ''}"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(".half")
        compiler = CLANGXX if source.endswith(".cc") else CLANG
        try:
            subprocess.run([compiler, "-O2", *flags, DRIVERS / source, "-o", half], check=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise debian.Missing(f"{source} cannot be compiled: {error}") from None
        half.rename(file)
    return file


def flags_instead(work, build):
    """What a build that is not ours is compiled with, and what is linked in besides."""
    if build == "instrument-functions":
        # The option without "after-inlining" does not link where libstdc++ declares inlined templates `extern`: clang takes
        # the addresses of functions that are nowhere.
        return "-finstrument-functions-after-inlining", compiled(work, "empty_hooks.c", "-c")
    if build == "xray":
        # A record has every function's arguments, so XRay too has to see them all, and log the first.
        listed = work / "tools/xray.list"
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text("[arg1]\nfun:*\n")
        return f"-fxray-instrument -fxray-instruction-threshold=1 -fxray-attr-list={listed}", compiled(work, "xray_log.cc", "-std=c++20", "-c")
    if build == "asan":
        return "-fsanitize=address", None
    raise ValueError(build)


def compilers(work, build):
    """C compiler, C++ compiler, FLAGS. An object that is linked in goes through the linker's own option, which a compilation
    passes over."""
    if build == "plain" or build in OURS:
        return product.compilers(build)
    flags, linked = flags_instead(work, build)
    return CLANG, CLANGXX, f"-O2 -g -w {flags}" + (f" -Wl,{linked}" if linked else "")


def identity(work, build):
    """What a build depends on: of recrash, the pass and the compiler; linked in, the agent. Another pass is another build;
    another agent only links it again."""
    if build not in OURS:
        return {"compiler": compilers(work, build)[2], "agent": ""}
    for part in ("bin/recrash-clang++", "lib/recrash/recrash-pass.so"):
        if not (product.PREFIX / part).exists():
            raise debian.Missing(f"{product.PREFIX / part} is missing; install recrash there, or set RECRASH_PREFIX")
    return {"compiler": product.fingerprint("bin/recrash-clang++", "lib/recrash/recrash-pass.so"), "agent": product.agent()}
