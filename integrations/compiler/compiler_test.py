#!/usr/bin/env python3
"""Runs recrash-clang and recrash-clang++ from an installed tree that lies anywhere, as builds do.

RECRASH_PREFIX=PREFIX compiler_test.py --plain-cc CLANG [unittest arguments]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

C_PROGRAM = """
#include <stdio.h>
__attribute__((noinline)) int divide(int a, int *b) { return a / *b; }
int main(int argc, char **argv) { printf("%d\\n", divide(6, &argc)); return argv == 0; }
"""
CXX_PROGRAM = """
#include <stdexcept>
#include <iostream>
struct Tree { int size; __attribute__((noinline)) int Half(int by) { if (by == 0) throw std::runtime_error("by"); return size / by; } };
int main() { Tree t{6}; try { t.Half(0); } catch (std::exception& e) { std::cout << e.what() << t.Half(2) << "\\n"; } }
"""
options = None


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="recrash compiler ")  # a space: nothing may split on it
        root = pathlib.Path(cls.directory.name)
        cls.prefix = root / "prefix"
        shutil.copytree(os.environ["RECRASH_PREFIX"], cls.prefix)
        (cls.prefix / "include/recrash/recrash.h").write_text("#define FROM_THE_PREFIX 1\n")
        cls.cc = str(cls.prefix / "bin/recrash-clang")
        cls.cxx = str(cls.prefix / "bin/recrash-clang++")

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self.directory.name))
        (self.work / "program.c").write_text(C_PROGRAM)
        (self.work / "program.cpp").write_text(CXX_PROGRAM)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("RECRASH_")}

    def run_command(self, *words, status=0, **more):
        done = subprocess.run(words, cwd=self.work, env=self.environment, capture_output=True, text=True, **more)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def quiet(self, *words, **more):
        """A run that says nothing on stderr."""
        done = self.run_command(*words, **more)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def sections(self, name):
        return subprocess.run(["readelf", "-SW", self.work / name], capture_output=True, text=True, check=True).stdout

    def symbols(self, name):
        return subprocess.run(["nm", self.work / name], capture_output=True, text=True, check=True).stdout

    def assert_instrumented(self, name):
        self.assertIn("recrash_map", self.sections(name))

    def assert_has_agent(self, name):
        self.assertIn("__recrash_client_anchor", self.symbols(name))

    def test_c_program(self):
        self.quiet(self.cc, "-O2", "-Wall", "-Wextra", "-Werror", "program.c", "-o", "program")
        self.assertEqual(self.quiet("./program"), "6\n")
        self.assert_instrumented("program")
        self.assert_has_agent("program")
        needed = self.quiet("readelf", "-d", "program")
        self.assertNotIn("libstdc++", needed)

    def test_cxx_program_of_steps(self):
        for flags in (["-O0", "-g"], ["-O2"], ["-O1", "-fno-pie"], ["-O2", "-ffunction-sections"]):
            link = ["-no-pie"] if "-fno-pie" in flags else ["-Wl,--gc-sections"]
            self.quiet(self.cxx, "-Werror", *flags, "-c", "program.cpp", "-o", "program.o")
            self.assertNotIn("__recrash_client_anchor", self.symbols("program.o"))
            self.quiet(self.cxx, "-Werror", *link, "program.o", "-o", "program")
            self.assertEqual(self.quiet("./program"), "by3\n")
            self.assert_instrumented("program")
            self.assert_has_agent("program")

    def test_shared_library_has_no_agent(self):
        self.quiet(self.cc, "-Werror", "-fPIC", "-shared", "program.c", "-o", "libprogram.so")
        self.assert_instrumented("libprogram.so")
        self.assertNotIn("__recrash_client_anchor", self.symbols("libprogram.so"))

    def test_link_time_optimisation(self):
        """lld is chosen where no linker is named, and makes the records, with the options of the compilation."""
        for kind in ("full", "thin"):
            for linker in ([], ["-fuse-ld=lld"]):
                self.quiet(self.cxx, "-O2", "-Werror", f"-flto={kind}", "-recrash-mode=full", "-recrash-report", "-c",
                           "program.cpp", "-o", "program.o")
                self.assertFalse((self.work / "program.o.recrash.txt").exists())
                self.quiet(self.cxx, "-O2", "-Werror", f"-flto={kind}", *linker, "program.o", "-o", "program")
                self.assertEqual(self.quiet("./program"), "by3\n")
                self.assert_instrumented("program")
                self.assert_has_agent("program")
                self.assertIn("mode=full", self.quiet("strings", "program"))
                report = (self.work / "program.o.recrash.txt").read_text()
                self.assertRegex(report, r"monitored\t\d+\t1\t.*\tTree::Half")
                (self.work / "program.o.recrash.txt").unlink()

    def test_link_time_optimisation_of_a_shared_library(self):
        self.quiet(self.cc, "-O2", "-Werror", "-flto", "-fPIC", "-c", "program.c", "-o", "program.o")
        self.quiet(self.cc, "-Werror", "-flto", "-shared", "program.o", "-o", "libprogram.so")
        self.assert_instrumented("libprogram.so")
        self.assertNotIn("__recrash", self.quiet("nm", "-D", "libprogram.so"))

    def test_link_time_optimisation_by_another_linker(self):
        """Which cannot load the pass: no program is without its records unnoticed."""
        self.quiet(self.cc, "-O2", "-flto", "-c", "program.c", "-o", "program.o")
        error = self.run_command(self.cc, "-flto", "-fuse-ld=bfd", "program.o", "-o", "program", status=2).stderr
        self.assertIn("-flto with bfd: under link-time optimisation records are made in the link step, by lld", error)
        error = self.run_command(options.plain_cc, "-flto", "-fuse-ld=lld", "program.o", "-o", "program", status=1)
        self.assertIn("__recrash_needs_lld_with_load_pass_plugin", error.stderr)
        self.quiet(self.cc, "-O2", "-flto", "-recrash-lto=compile", "-c", "program.c", "-o", "program.o")
        self.quiet(options.plain_cc, "-flto", "-fuse-ld=lld", "program.o", "-o", "program")
        self.assert_instrumented("program")

    def test_static_program(self):
        self.run_command(self.cc, "-O2", "-static", "program.c", "-o", "program")
        self.assertEqual(self.quiet("./program"), "6\n")
        self.assert_has_agent("program")

    def test_options_reach_the_note(self):
        self.quiet(self.cc, "-Werror", "-recrash-version=3.1 beta", "-recrash-mode=full", "program.c", "-o", "program")
        self.assertIn("mode=full;version=3.1 beta", self.quiet("strings", "program"))
        (self.work / "words.rsp").write_text("-recrash-version=7 -O1 'program.c' -o program\n")
        self.quiet(self.cc, "-Werror", "@words.rsp")
        self.assertIn("mode=references;version=7", self.quiet("strings", "program"))
        self.quiet(self.cc, "-Werror", "-recrash-mode=references+second-chance", "program.c", "-o", "program")
        self.assertIn("mode=references+second-chance;version=", self.quiet("strings", "program"))

    def test_a_list_says_which_functions_and_a_report_what_came_of_it(self):
        (self.work / "my.list").write_text("[recrash]\nfun:divide\n")
        self.quiet(self.cc, "-Werror", "-O2", "-MD", "-recrash-list=my.list", "-recrash-report", "-c", "program.c",
                   "-o", "program.o")
        report = (self.work / "program.o.recrash.txt").read_text()
        self.assertRegex(report, r"left out\t0\t0\t.*\tnever \(my.list:2\)\tdivide\n")
        self.assertRegex(report, r"monitored\t\d+\t0\t.*\tcan fail\tmain\n")
        # Build systems compile again when it was changed.
        self.assertIn("my.list", (self.work / "program.d").read_text())
        (self.work / "my.list").write_text("[recrash]\nfunction:divide\n")
        error = self.run_command(self.cc, "-recrash-list=my.list", "-c", "program.c", status=1).stderr
        self.assertIn("my.list:2: expected fun:, src: or type:", error)

    def test_standard_input(self):
        self.quiet(self.cc, "-Werror", "-x", "c", "-", "-o", "program", input=C_PROGRAM)
        self.assertEqual(self.quiet("./program"), "6\n")
        self.assert_instrumented("program")

    def test_steps_that_make_no_code_are_plain_clang(self):
        plain = options.plain_cc
        for words in (["-E", "program.c"], ["-M", "program.c"], ["-MM", "program.c"], ["-fsyntax-only", "program.c"],
                      ["--version"], ["-dumpmachine"], ["-dumpversion"], ["-print-search-dirs"],
                      ["-print-file-name=crt1.o"], ["-print-prog-name=ld"]):
            self.assertEqual(self.quiet(self.cc, "-Werror", *words), self.quiet(plain, "-Werror", *words), words)
        self.assertIn("Target: x86_64", self.run_command(self.cc, "-v").stderr)
        self.run_command(self.cc, status=1)  # "no input files"

    def test_assembly_passes_through(self):
        self.quiet(self.cc, "-Werror", "-O1", "-S", "program.c", "-o", "program.s")
        self.assertIn("recrash_map", (self.work / "program.s").read_text())
        self.quiet(self.cc, "-Werror", "-c", "program.s", "-o", "program.o")
        self.quiet(self.cc, "-Werror", "program.o", "-o", "program")
        self.assertEqual(self.quiet("./program"), "6\n")

    def test_precompiled_header(self):
        (self.work / "all.h").write_text("#include <stdexcept>\n#include <iostream>\n")
        self.quiet(self.cxx, "-Werror", "-x", "c++-header", "all.h", "-o", "all.pch")
        self.quiet(self.cxx, "-Werror", "-include-pch", "all.pch", "program.cpp", "-o", "program")
        self.assert_instrumented("program")

    def test_dependency_file(self):
        self.quiet(self.cc, "-Werror", "-MD", "-MF", "program.d", "-c", "program.c", "-o", "program.o")
        self.assertIn("program.o: program.c", (self.work / "program.d").read_text())

    def test_switched_off(self):
        self.quiet(self.cc, "-fno-recrash", "program.c", "-o", "program")
        self.assertNotIn("recrash", self.sections("program"))
        self.assertNotIn("recrash", self.symbols("program"))

    def test_header_of_the_prefix(self):
        (self.work / "uses.c").write_text("#include <recrash/recrash.h>\nint x[FROM_THE_PREFIX];\n")
        self.quiet(self.cc, "-Werror", "-c", "uses.c")
        self.quiet(self.cc, "-Werror", "-E", "uses.c")

    def test_called_through_a_link(self):
        (self.work / "c++").symlink_to(self.cxx)
        self.quiet("./c++", "program.cpp", "-o", "program")
        self.assert_instrumented("program")

    def test_errors(self):
        self.assertIn("error:", self.run_command(self.cc, "-c", "missing.c", status=1).stderr)
        done = self.run_command(self.cc, "-recrash-mode=most", "-c", "program.c", status=2)
        self.assertEqual(done.stderr, "recrash-clang: error: -recrash-mode=most: the modes are references, full, "
                                      "second-chance, references+second-chance, adaptive\n")
        self.environment["RECRASH_SUPPORT_DIR"] = "/nowhere"
        done = self.run_command(self.cxx, "-c", "program.cpp", status=4)
        self.assertIn("recrash-pass.so is needed, not found at /nowhere/recrash-pass.so", done.stderr)
        self.assertIn("RECRASH_SUPPORT_DIR", done.stderr)
        self.quiet(self.cxx, "-E", "program.cpp")  # which needs neither
        del self.environment["RECRASH_SUPPORT_DIR"]
        self.environment["RECRASH_CLANGXX"] = "clang-of-nowhere"
        done = self.run_command(self.cxx, "-c", "program.cpp", status=4)
        self.assertIn("needs clang-of-nowhere, which is not found", done.stderr)

    def test_help(self):
        self.assertIn("-recrash-version=TEXT", self.quiet(self.cxx, "--recrash-help"))

    def test_as_the_compiler_of_make(self):
        self.environment |= {"CC": "recrash-clang", "CXX": "recrash-clang++", "CFLAGS": "-O2 -Werror",
                             "PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}
        (self.work / "program.cpp").unlink()
        self.run_command("make", "-e", "program")
        self.assertEqual(self.quiet("./program"), "6\n")
        self.assert_instrumented("program")
        self.assert_has_agent("program")

    def test_as_the_compiler_of_cmake(self):
        project = self.work / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.20)
project(p C CXX)
include(CheckCSourceCompiles)
check_c_source_compiles("int main(void) { return 0; }" WORKS)
if(NOT WORKS)
  message(FATAL_ERROR "checks fail")
endif()
add_library(part STATIC part.cpp)
add_library(shared SHARED shared.c)
add_executable(main main.cpp)
target_link_libraries(main part shared)
""")
        (project / "part.cpp").write_text("int Part(int* p) { return *p + 1; }\n")
        (project / "shared.c").write_text("int Shared(int *p) { return *p + 1; }\n")
        (project / "main.cpp").write_text('int Part(int*); extern "C" int Shared(int*);\n'
                                          "int main(int c, char**) { return Part(&c) + Shared(&c) - 4; }\n")
        self.run_command("cmake", "-S", project, "-B", "build", f"-DCMAKE_C_COMPILER={self.cc}",
                         f"-DCMAKE_CXX_COMPILER={self.cxx}", "-DCMAKE_BUILD_TYPE=Release")
        self.run_command("cmake", "--build", "build")
        self.quiet("build/main")
        self.assert_has_agent("build/main")
        self.assert_instrumented("build/main")
        self.assert_instrumented("build/libshared.so")
        self.assertNotIn("__recrash_client_anchor", self.symbols("build/libshared.so"))


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain-cc", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
