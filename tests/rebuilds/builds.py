"""The ways in which a program is built: at its crash, again with its bug, and without it.

    build = REBUILDS["line"]
    if build.applies(program, origin):
        executable = build.make(program, origin, folder)

What was compiled is kept as long as source, command and compiler are the same.
"""

import dataclasses
import hashlib
import os
import shutil
import subprocess

import product
import real_programs
import small_programs

CLANG, GCC = "clang", "gcc"
COMMON = ("-g", "-w")
ASAN = ("-O1", "-fsanitize=address", "-fno-omit-frame-pointer")
UBSAN = ("-O1", "-fsanitize=undefined")
ASSERTIONS = ("-O1", "-D_GLIBCXX_ASSERTIONS")


class BuildFailed(Exception):
    """The text has the command and what it said."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """How a program was built when it crashed, and how its tests are made."""
    name: str
    compiler: str
    level: str
    rerun: bool = False

    @property
    def flags(self):
        return (self.level,)


ORIGINS = {origin.name: origin for origin in (Origin("-O2", CLANG, "-O2"), Origin("-O0, --rerun", CLANG, "-O0", True))}


@dataclasses.dataclass(frozen=True)
class Rebuild:
    name: str
    flags: tuple = None  # as at the crash
    compiler: str = CLANG
    macros: tuple = ()
    text: object = None  # from the program's text, another
    own_folder: bool = False
    needs: object = None  # of the program
    without_input: bool = False
    twin: bool = False  # the same sources without inlining stand beside it, as recrash_twin builds them
    fixed: bool = False

    def applies(self, program, origin):
        same_command = self.flags == origin.flags and self.compiler == origin.compiler
        return not (same_command and not self.fixed) and (self.needs is None or bool(self.needs(program)))

    def place(self, origin):
        """The names of its folder: one for all origins that it does not depend on."""
        name = self.name.removesuffix(TWIN)
        return ("builds", name) if self.flags else (origin.name, name)

    def make_twin(self, program, sources, folder):
        """The executable that stands beside it: as recrash_twin builds it, without optimisation of any kind."""
        if program.group == real_programs.GROUP:
            return real_programs.make(program, self, ("-O0", "-fno-inline"), sources, folder)
        if self.fixed:
            sources = folder / "sources"
        text, fixed = program.fixed_text() if self.fixed else (program.text, ())
        return compile_program(program, text, None, sources, folder, self.compiler, ("-O0", "-fno-inline", *fixed))

    def make(self, program, origin, sources, folder):
        """The executable in `folder`, of the sources as they lay at the crash, unless others are what it is about."""
        if program.group == real_programs.GROUP:
            return real_programs.make(program, self, self.flags or origin.flags, sources, folder)
        if self.own_folder or self.text or self.fixed:
            sources = folder / "sources"
        text, fixed = program.fixed_text() if self.fixed else (program.text, ())
        part = None
        if self.text == small_programs.part:
            text, part = small_programs.part(text)
        elif self.text:
            text = self.text(text)
        return compile_program(program, text, part, sources, folder, self.compiler,
                               (*(self.flags or origin.flags), *self.macros, *fixed))


def one_line_more(text):
    return "// one line more\n" + text


def marks(word):
    return lambda program: word in program.text and not program.is_c


def is_cpp(program):
    return not program.is_c


def changes(program):
    return program.changes


REBUILDS = {rebuild.name: rebuild for rebuild in (
    Rebuild("clang -O0", ("-O0",)), Rebuild("clang -O1", ("-O1",)), Rebuild("clang -O2", ("-O2",)),
    Rebuild("clang -O3", ("-O3",)), Rebuild("clang -Os", ("-Os",)),
    Rebuild("g++ -O0", ("-O0",), GCC), Rebuild("g++ -O2", ("-O2",), GCC),
    Rebuild("ASan", ASAN), Rebuild("g++ ASan", ASAN, GCC),
    Rebuild("UBSan", UBSAN), Rebuild("g++ UBSan", UBSAN, GCC), Rebuild("assertions", ASSERTIONS, needs=is_cpp),
    Rebuild("LTO", ("-O2", "-flto", "-fuse-ld=lld")),
    Rebuild("another folder", own_folder=True),
    Rebuild("a line more", text=one_line_more),
    Rebuild("a function split", text=small_programs.split, needs=marks("// split\n")),
    Rebuild("a function moved", text=small_programs.part, needs=marks("// part\n")),
    Rebuild("a member added", macros=("-DCHANGED",), needs=changes),
    Rebuild("inputs gone", text=one_line_more, needs=lambda program: program.input is not None, without_input=True))}
# The same with a twin beside them (recrash_twin): rows of their own, which are in no total of the others.
TWIN = ", a twin"
TWINS = {f"{name}{TWIN}": dataclasses.replace(REBUILDS[name], name=f"{name}{TWIN}", twin=True) for name in
         ("clang -O1", "clang -O2", "clang -O3", "clang -Os", "g++ -O2", "LTO")}
WITH_BUG = {**REBUILDS, **TWINS}

FIXES = {fix.name: fix for fix in (
    Rebuild("fixed", fixed=True),
    Rebuild("fixed, g++ -O2", ("-O2",), GCC, fixed=True),
    Rebuild("fixed, g++ -O2, a twin", ("-O2",), GCC, fixed=True, twin=True),
    Rebuild("fixed, ASan", ASAN, fixed=True), Rebuild("fixed, g++ ASan", ASAN, GCC, fixed=True),
    Rebuild("fixed, UBSan", UBSAN, fixed=True), Rebuild("fixed, assertions", ASSERTIONS, fixed=True, needs=is_cpp),
    Rebuild("fixed, a member added", macros=("-DCHANGED",), fixed=True, needs=changes))}


def compiler_of(program, compiler):
    if compiler == GCC:
        return ["gcc" if program.is_c else "g++"]
    return [str(product.PREFIX / "bin" / ("recrash-clang" if program.is_c else "recrash-clang++"))]


def compiler_key(compiler):
    if compiler == GCC:
        return "gcc"
    return product.fingerprint("bin/recrash-clang++", "lib/recrash/recrash-pass.so", "lib/recrash/librecrash_client.a")


def compile_program(program, text, part, sources, folder, compiler, flags):
    """Writes the sources and compiles them, unless that was done before. Debug information names the sources by their path."""
    source, output = sources / program.file.name, folder / program.name
    standard = () if program.is_c else ("-std=c++20",)
    command = [*compiler_of(program, compiler), *standard, *COMMON, *flags, *program.flags]
    key = hashlib.sha256("\0".join([*command, str(source), text, part or "", compiler_key(compiler)]).encode()).hexdigest()
    stamp = folder / "built"
    if output.exists() and stamp.exists() and stamp.read_text() == key and source.exists():
        return output
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources.mkdir(parents=True, exist_ok=True)
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    if part:
        (sources / "part.h").write_text(part)
    link = []
    if program.library:
        library = folder / f"lib{program.name}.so"
        run([*command, "-DLIBRARY", "-fPIC", "-shared", str(source), "-o", str(library)])
        link = [str(library), "-Wl,-rpath,$ORIGIN"]
    run([*command, str(source), *link, "-o", str(output)])
    stamp.write_text(key)
    return output


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode:
        raise BuildFailed(f"{' '.join(command)}\n{done.stdout}")
