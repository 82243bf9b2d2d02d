#!/usr/bin/env python3
"""Programs built as builds do it, with recrash-clang as their compiler: each crashes, and its report has the arguments of
all frames.

RECRASH_PREFIX=PREFIX build_systems_test.py [unittest arguments]
"""

import json
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import harness  # noqa: E402

# Three units, so that something is left to the link step; nobody may inline what is to be seen on the stack.
SOURCES = {
    "shelf.h": """
struct Book { volatile int copies; };  // read where it stands, not by the caller
struct Shelf {
  int taken = 0;
  __attribute__((noinline)) int Take(const Book* book, int copies);
};
__attribute__((noinline)) int Lend(Shelf& shelf, int key, int copies);
""",
    "shelf.cc": """
#include "shelf.h"
int Shelf::Take(const Book* book, int copies) {
  taken += copies;
  return book->copies - copies;
}
""",
    "lend.cc": """
#include "shelf.h"
Book* volatile missing = nullptr;  // which no optimiser knows
int Lend(Shelf& shelf, int key, int copies) {
  Book book{copies};
  return shelf.Take(key == 42 ? missing : &book, copies) + key;
}
""",
    "main.cc": """
#include <cstdio>
#include "shelf.h"
int main(int argc, char**) {
  Shelf shelf;
  std::printf("%d\\n", Lend(shelf, argc + 41, argc + 2));
}
""",
}
UNITS = [name for name in SOURCES if name.endswith(".cc")]
ARGUMENTS = {
    "Shelf::Take(Book const*, int)": {"this": "Shelf {taken = 3}", "book": "nullptr", "copies": "3"},
    "Lend(Shelf&, int, int)": {"shelf": "Shelf {taken = 3}", "key": "42", "copies": "3"},
    "main": {"argc": "1"},
}


def needs(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def has_libcxx():
    return any(pathlib.Path(folder, "c++/v1/vector").exists()
               for folder in (f"/usr/lib/llvm-{harness.LLVM}/include", "/usr/include"))


class Build(harness.Workspace):
    def setUp(self):
        super().setUp()
        for name, text in SOURCES.items():
            (self.path / name).write_text(text)
        self.environment |= {"CC": "recrash-clang", "CXX": "recrash-clang++"}
        self.environment.pop("MAKEFLAGS", None)

    def shown(self, program):
        """What `recrash show` says of the program's crash."""
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.run_command("recrash", "show", report, "--program", program, "--json", "show.json")
        return json.loads((self.path / "show.json").read_text())

    def assert_arguments(self, program):
        frames = {frame["function"]: frame for frame in self.shown(program)["frames"]}
        for function, expected in ARGUMENTS.items():
            self.assertIn(function, frames)
            self.assertTrue(frames[function]["monitored"], function)
            found = {each["name"]: each["value"] for each in frames[function]["parameters"]}
            self.assertEqual({name: found.get(name) for name in expected}, expected, function)

    def compile_units(self, *flags, link=(), driver="recrash-clang++"):
        for unit in UNITS:
            self.run_command(driver, "-g", *flags, "-c", unit, "-o", unit + ".o")
        self.run_command(driver, "-g", *flags, *[unit + ".o" for unit in UNITS], *link, "-o", "program")
        return self.path / "program"


class Kinds(Build):
    """What a build may ask of the compiler."""

    def test_kinds_of_programs(self):
        for flags, link in (
                (["-O2", "-fPIE"], ["-pie"]),
                (["-O2", "-fno-pie"], ["-no-pie"]),
                (["-O2"], ["-static"]),
                (["-O2", "-fPIE"], ["-static-pie"]),
                (["-O2", "-static-libstdc++"], []),
                (["-O2", "-fno-exceptions", "-fno-rtti"], []),
                (["-O0"], []),
                (["-O3", "-ffunction-sections", "-fdata-sections"], ["-Wl,--gc-sections", "-fuse-ld=lld"])):
            with self.subTest(" ".join(flags + link)):
                self.assert_arguments(self.compile_units(*flags, link=link))

    def test_link_time_optimisation(self):
        for flags in (["-flto=thin"], ["-flto=full"], ["-flto=thin", "-fno-exceptions", "-fno-rtti"],
                      ["-flto=full", "-recrash-lto=compile", "-fuse-ld=lld"]):
            for level in ("-O0", "-O2", "-O3"):
                with self.subTest(" ".join(flags + [level])):
                    self.assert_arguments(self.compile_units(level, *flags, "-Wno-unused-command-line-argument"))

    def test_an_archive_under_link_time_optimisation(self):
        for unit in UNITS:
            self.run_command("recrash-clang++", "-O2", "-g", "-flto=thin", "-c", unit, "-o", unit + ".o")
        self.run_command(f"llvm-ar-{harness.LLVM}", "rcs", "libshelf.a", "shelf.cc.o", "lend.cc.o")
        self.run_command("recrash-clang++", "-flto=thin", "main.cc.o", "libshelf.a", "-o", "program")
        self.assert_arguments(self.path / "program")

    def test_shared_libraries(self):
        for flags in ([], ["-flto=thin"], ["-flto=full"]):
            with self.subTest(" ".join(flags)):
                self.run_command("recrash-clang++", "-O2", "-g", "-fPIC", *flags, "-shared", "shelf.cc", "lend.cc",
                                 "-o", "libshelf.so")
                self.run_command("recrash-clang++", "-O2", "-g", *flags, "main.cc", "libshelf.so", "-Wl,-rpath,$ORIGIN",
                                 "-o", "program")
                self.assert_arguments(self.path / "program")

    @unittest.skipUnless(has_libcxx(), f"not installed: libc++-{harness.LLVM}-dev")
    def test_libcxx(self):
        self.assert_arguments(self.compile_units("-O2", "-stdlib=libc++"))
        self.assert_arguments(self.compile_units("-O2", "-stdlib=libc++", "-flto=thin"))
        (self.path / "main.cc").write_text(SOURCES["main.cc"].replace("#include <cstdio>", """#include <cstdio>
#include <stdexcept>
#include <string>
__attribute__((noinline)) static void Refuse(const std::string& why, int code) {
  if (code == 1) throw std::runtime_error(why + "!");
}""").replace("Shelf shelf;", 'Refuse("closed", argc); Shelf shelf;'))
        report = self.crash(self.compile_units("-O2", "-stdlib=libc++"), died_of=signal.SIGABRT)
        shown = self.run_command("recrash", "show", report).stdout
        self.assertIn("uncaught std::runtime_error (closed!) in Refuse", shown)
        self.assertRegex(shown, r'why = .*"closed"\n *code = 1\n')

    def test_the_pass_by_hand(self):
        """As docs/guides/build-systems.md has it, with clang itself."""
        support = harness.PREFIX / "lib/recrash"
        plugin = support / "recrash-pass.so"
        load = ["-O2", "-g", f"-fplugin={plugin}", f"-fpass-plugin={plugin}", "-mllvm", "-recrash-mode=full"]
        agent = ["-Wl,-u,__recrash_client_anchor", support / "librecrash_client.a", "-lpthread", "-ldl"]
        clang = f"clang++-{harness.LLVM}"
        for compiled, linked in (
                ([], []),
                (["-flto=thin", "-mllvm", "-recrash-lto=link"],
                 ["-flto=thin", "-fuse-ld=lld", f"-Wl,--load-pass-plugin={plugin}"])):
            with self.subTest(" ".join(compiled)):
                for unit in UNITS:
                    self.run_command(clang, *load, *compiled, "-c", unit, "-o", unit + ".o")
                self.run_command(clang, *linked, *[unit + ".o" for unit in UNITS], *agent, "-o", "program")
                self.assert_arguments(self.path / "program")


@needs("autoreconf", "automake", "libtoolize", "make")
class Autotools(Build):
    def configure(self, *options):
        if not (self.path / "configure").exists():
            self.generate_configure()
        self.run_command("./configure", f"--prefix={self.path}/installed", *options)

    def generate_configure(self):
        (self.path / "configure.ac").write_text("""
AC_INIT([lender], [1.0])
AM_INIT_AUTOMAKE([foreign subdir-objects])
AC_PROG_CC
AC_PROG_CXX
AC_LANG([C++])
AM_PROG_AR
LT_INIT
AC_CHECK_FUNCS([strlcpy])
AC_CHECK_LIB([m], [sqrt])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
""")
        (self.path / "Makefile.am").write_text("""
lib_LTLIBRARIES = libshelf.la
libshelf_la_SOURCES = shelf.cc shelf.h
bin_PROGRAMS = lender
lender_SOURCES = main.cc lend.cc
lender_LDADD = libshelf.la
""")
        self.run_command("autoreconf", "-i")

    def test_a_library_and_a_program(self):
        """libtool links the program against a library of the build's own, and again for its place when installed."""
        for options in (["CXXFLAGS=-O2 -g"], ["--disable-shared", "CXXFLAGS=-O2 -g -recrash-mode=full"],
                        ["--disable-shared", "CXXFLAGS=-O2 -g -flto=thin", f"AR=llvm-ar-{harness.LLVM}",
                         f"RANLIB=llvm-ranlib-{harness.LLVM}", f"NM=llvm-nm-{harness.LLVM}"]):
            with self.subTest(" ".join(options)):
                self.configure(*options)
                self.run_command("make", "install")
                self.assert_arguments(self.path / "installed/bin/lender")
                self.run_command("make", "distclean")

    def test_a_changed_list_has_its_objects_made_again(self):
        (self.path / "which.list").write_text("# all\n")
        self.configure("--disable-shared", f"CXXFLAGS=-O2 -g -recrash-list={self.path}/which.list")
        self.run_command("make")
        self.assert_arguments(self.path / "lender")
        (self.path / "which.list").write_text("type:Shelf\n")
        self.run_command("make")
        taken = {frame["function"]: frame["monitored"] for frame in self.shown(self.path / "lender")["frames"]}
        self.assertEqual({name: taken[name] for name in ARGUMENTS},
                         {"Shelf::Take(Book const*, int)": False, "Lend(Shelf&, int, int)": True, "main": True})


@needs("meson", "ninja")
class Meson(Build):
    def test_a_library_and_a_program(self):
        (self.path / "meson.build").write_text("""
project('lender', 'cpp', default_options: ['buildtype=debugoptimized'])
assert(meson.get_compiler('cpp').get_id() == 'clang')
shelf = library('shelf', 'shelf.cc')
executable('lender', 'main.cc', 'lend.cc', link_with: shelf)
""")
        # Meson asks which linker it is before it adds -flto, and takes any llvm-ar.
        self.environment |= {"CXX_LD": "lld", "AR": f"llvm-ar-{harness.LLVM}"}
        for options in ([], ["-Ddefault_library=static", "-Db_lto=true", "-Db_lto_mode=thin"],
                        ["-Ddefault_library=static", "-Dcpp_eh=none", "-Dcpp_rtti=false", "-Db_pie=true"]):
            with self.subTest(" ".join(options)):
                shutil.rmtree(self.path / "build", ignore_errors=True)
                self.run_command("meson", "setup", "build", *options)
                self.run_command("ninja", "-C", "build")
                self.assert_arguments(self.path / "build/lender")


@needs("ccache")
class Ccache(Build):
    def setUp(self):
        super().setUp()
        self.environment["CCACHE_DIR"] = str(self.path / "cache")
        installed = shutil.copytree(harness.PREFIX, self.path / "installed", symlinks=True)
        self.support = installed / "lib/recrash"
        self.environment["RECRASH_SUPPORT_DIR"] = str(self.support)
        (self.path / "which.list").write_text("fun:Lend*\n")
        self.environment["CCACHE_EXTRAFILES"] = f"{self.support}/recrash-pass.so:{self.path}/which.list"

    def compile_through_cache(self):
        """Gives how many of the units were compiled rather than taken from the cache."""
        self.run_command("ccache", "--zero-stats")
        for unit in UNITS:
            self.run_command("ccache", "recrash-clang++", "-O2", "-g", "-recrash-list=which.list", "-c", unit, "-o",
                             unit + ".o")
        counts = dict(line.split("\t") for line in self.run_command("ccache", "--print-stats").stdout.splitlines())
        self.assertEqual(int(counts["cache_miss"]) + int(counts["direct_cache_hit"]) +
                         int(counts["preprocessed_cache_hit"]), len(UNITS), counts)
        return int(counts["cache_miss"])

    def link(self):
        self.run_command("recrash-clang++", *[unit + ".o" for unit in UNITS], "-o", "program")
        return self.path / "program"

    def test_the_second_time_nothing_is_compiled_and_the_program_is_the_same(self):
        (self.path / "which.list").write_text("# all\n")
        self.assertEqual(self.compile_through_cache(), len(UNITS))
        self.assertEqual(self.compile_through_cache(), 0)
        self.assert_arguments(self.link())

    def test_a_changed_list_and_a_new_pass_count(self):
        self.assertEqual(self.compile_through_cache(), len(UNITS))
        (self.path / "which.list").write_text("# all\n")
        self.assertEqual(self.compile_through_cache(), len(UNITS))
        self.assert_arguments(self.link())
        with open(self.support / "recrash-pass.so", "ab") as plugin:
            plugin.write(b"another")
        self.assertEqual(self.compile_through_cache(), len(UNITS))

    def test_without_the_setting_a_changed_list_is_not_seen(self):
        """Why docs/guides/build-systems.md asks for CCACHE_EXTRAFILES; when this fails it need not any more."""
        del self.environment["CCACHE_EXTRAFILES"]
        self.assertEqual(self.compile_through_cache(), len(UNITS))
        (self.path / "which.list").write_text("# all\n")
        self.assertEqual(self.compile_through_cache(), 0)


if __name__ == "__main__":
    harness.main()
