"""find_package(recrash) from an installed tree, in projects as users write them."""

import pathlib
import re
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "e2e"))
import harness  # noqa: E402

PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(greeter CXX)
enable_testing()
find_package(recrash REQUIRED)
add_executable(greeter greeter.cc)
"""

# `Greet` hands on a null name when there is no argument.
SOURCE = """
#include <cstdio>
#include <cstring>
#include <string>
struct Greeter {
  std::string greeting;
  __attribute__((noinline)) size_t Width(const char* name) { return greeting.size() + strlen(name); }
  __attribute__((noinline)) size_t Greet(const char* name) { return Width(name) + 1; }
};
int main(int argc, char** argv) {
  Greeter greeter{"hello"};
  std::printf("%zu\\n", greeter.Greet(argc > 1 ? argv[1] : nullptr));
}
"""
FIXED = SOURCE.replace("return Width(name)", 'return Width(name ? name : "")')

CRASH_TEST = "recrash_add_crash_test(NAME crash PROGRAM greeter REPORT kept/crash_test.rcr SOURCES kept/crash_test.cc)\n"


class Project(harness.Workspace):
    def write(self, lists, source=SOURCE):
        (self.path / "CMakeLists.txt").write_text(PROJECT + lists)
        (self.path / "greeter.cc").write_text(source)

    def configure(self, *options, compiler=f"clang++-{harness.LLVM}", prefix=harness.PREFIX, expect=0):
        return self.run_command("cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                                f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={prefix}", *options,
                                expect=expect)

    def build(self):
        self.run_command("cmake", "--build", "build")
        return self.path / "build" / "greeter"

    def build_mentions(self, text, folder="build"):
        return str(text) in (self.path / folder / "build.ninja").read_text()

    def keep_tests(self, program, report):
        """What a user does with tests worth keeping: copies two files into the project."""
        self.reproduce(program, report=report)
        (self.path / "kept").mkdir()
        for name in ("crash_test.cc", "crash_test.rcr"):
            shutil.copy(self.path / "tests" / name, self.path / "kept")


class Instrument(Project):
    def test_reports_name_mode_and_version(self):
        self.write("recrash_instrument(greeter MODE full VERSION 2.1-rc1)\n")
        self.configure()
        self.crash(self.build(), died_of=signal.SIGSEGV)
        self.run_command("recrash", "show", "--json", "show.json")
        shown = (self.path / "show.json").read_text()
        self.assertIn('"version": "2.1-rc1"', shown)
        self.assertIn('"mode": "full"', shown)

    def test_under_interprocedural_optimization_the_link_makes_the_records(self):
        """Also those of a library in an archive, whose objects somebody else links."""
        self.write("add_library(part STATIC part.cc)\ntarget_link_libraries(greeter PRIVATE part)\n"
                   "recrash_instrument(part REPORT what)\nrecrash_instrument(greeter)\n"
                   "set_property(TARGET greeter part PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)\n",
                   source=SOURCE.replace("int main(", "size_t Part(Greeter&, const char*);\nint main(")
                   .replace("greeter.Greet(", "Part(greeter, "))
        (self.path / "part.cc").write_text(SOURCE[:SOURCE.index("int main(")] +
                                           "size_t Part(Greeter& g, const char* name) { return g.Greet(name) + 2; }\n")
        self.configure()
        self.crash(self.build(), died_of=signal.SIGSEGV)
        self.assertRegex(self.report(), r"# in the link step(.|\n)*monitored\t\d+\t0\t.*Greeter::Width")
        shown = self.run_command("recrash", "show").stdout
        self.assertRegex(shown, r'Greeter::Width.*\[monitored\]\n *this = Greeter {greeting = "hello"}\n *name = nullptr')

    def test_says_which_compiler_is_needed(self):
        self.write("recrash_instrument(greeter)\n")
        error = self.configure(compiler="g++", expect=1).stderr
        self.assertIn(f"recrash_instrument needs Clang {harness.LLVM}", " ".join(error.split()))
        self.assertIn("found GNU", " ".join(error.split()))

    def test_knows_the_modes_of_the_pass(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        modes = re.findall(r'{Mode::\w+, "([^"]+)"', (root / "shadowstack/modes.h").read_text())
        self.assertGreaterEqual(len(modes), 5)
        known = re.search(r'ARG_MODE MATCHES "\^\(([^)]+)\)', (root / "integrations/cmake/RecrashInstrument.cmake").read_text())[1]
        self.assertEqual(known.replace("\\", "").split("|"), modes)

    def test_does_not_guess(self):
        for call in ("recrash_instrument(nothing)", "recrash_instrument(greeter MODE fast)",
                     "recrash_instrument(greeter FAST)", "recrash_instrument(greeter DEPTH 3)",
                     "recrash_instrument(greeter LIST missing.list)", 'recrash_instrument(greeter VERSION "a b")'):
            with self.subTest(call):
                self.write(call + "\n")
                self.assertIn("recrash_instrument", self.configure(expect=1).stderr)

    def test_a_changed_list_has_the_objects_compiled_again(self):
        """By any generator: the list stands in the dependency file."""
        for generator in ("Ninja", "Unix Makefiles"):
            with self.subTest(generator):
                shutil.rmtree(self.path / "build", ignore_errors=True)
                self.write("recrash_instrument(greeter MODE full DEPTH 0 LIST my.list REPORT what)\n")
                (self.path / "my.list").write_text("type:Greeter=never\n")
                self.run_command("cmake", "-G", generator, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={harness.PREFIX}",
                                 f"-DCMAKE_CXX_COMPILER=clang++-{harness.LLVM}", "-DCMAKE_CXX_FLAGS=-g")
                self.build()
                self.assertRegex(self.report(), r"left out\t.*never \(.*/my.list:1\)\tGreeter::Width")
                (self.path / "my.list").write_text("fun:Greeter::Greet=never\n")
                self.build()
                self.assertRegex(self.report(), r"monitored\t\d+\t0\t.*Greeter::Width")

    def report(self):
        (report,) = (self.path / "build/what").iterdir()
        return report.read_text()

    def test_leaves_a_library_without_the_agent(self):
        self.write("add_library(part SHARED part.cc)\nrecrash_instrument(part)\nrecrash_instrument(greeter)\n"
                   "target_link_libraries(greeter PRIVATE part)\n")
        (self.path / "part.cc").write_text("int Part(int* p) { return *p + 1; }\n")
        self.configure()
        self.build()
        symbols = self.run_command("nm", "build/libpart.so").stdout
        self.assertNotIn("__recrash_client_anchor", symbols)
        self.assertIn("recrash_map", self.run_command("readelf", "-SW", "build/libpart.so").stdout)

    def test_a_program_holds_its_collector(self):
        for compiler in (f"clang++-{harness.LLVM}", harness.PREFIX / "bin/recrash-clang++"):
            self.write("recrash_instrument(greeter EMBED_COLLECTOR)\n")
            self.configure("--fresh", compiler=compiler)
            self.build()
            self.assertIn("__recrash_embedded_collector_end", self.run_command("nm", "build/greeter").stdout)
            self.crash(self.path / "build/greeter", died_of=signal.SIGSEGV)
        self.write("add_library(part STATIC part.cc)\nrecrash_instrument(part EMBED_COLLECTOR)\n")
        (self.path / "part.cc").write_text("int g_part;\n")
        self.assertIn("EMBED_COLLECTOR is for programs", self.configure(expect=1).stderr)

    def test_a_plugin_has_the_agent(self):
        (self.path / "host.c").write_text("#include <dlfcn.h>\nint main(int n, char** a) {\n"
                                          "  ((void (*)(int*))dlsym(dlopen(a[1], RTLD_NOW), \"Run\"))(0);\n  return n;\n}\n")
        self.run_command(f"clang-{harness.LLVM}", "host.c", "-ldl", "-o", "host")
        for compiler in (f"clang++-{harness.LLVM}", harness.PREFIX / "bin/recrash-clang++"):
            self.write("add_library(part MODULE part.cc)\nrecrash_instrument(part PLUGIN)\n")
            (self.path / "part.cc").write_text('extern "C" void Run(int* place) { *place = 1; }\n')
            self.configure("--fresh", compiler=compiler)
            self.build()
            self.crash(self.path / "host", "build/libpart.so", died_of=signal.SIGSEGV)
        self.write("recrash_instrument(greeter PLUGIN)\n")
        self.assertIn("PLUGIN is for MODULE and SHARED libraries", self.configure(expect=1).stderr)

    def test_a_static_runtime_has_the_agent_too(self):
        self.write("target_link_options(greeter PRIVATE -static-libstdc++)\nrecrash_instrument(greeter)\n")
        self.configure()
        self.crash(self.build(), died_of=signal.SIGSEGV)
        self.assertTrue(self.build_mentions("static_link_options.rsp"))

    def test_our_own_compiler_does_not_run_the_pass_twice(self):
        self.write("recrash_instrument(greeter VERSION 3)\n")
        self.configure(compiler=harness.PREFIX / "bin/recrash-clang++")
        self.crash(self.build(), died_of=signal.SIGSEGV)
        self.assertIn("version 3", self.run_command("recrash", "show").stdout)

    def test_the_prefix_may_be_moved(self):
        moved = self.path / "elsewhere"
        shutil.copytree(harness.PREFIX, moved, symlinks=True)
        self.write("recrash_instrument(greeter)\n")
        self.configure(prefix=moved)
        program = self.build()
        self.assertTrue(self.build_mentions(moved))
        self.assertFalse(self.build_mentions(harness.PREFIX))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.environment["PATH"] = f"{moved}/bin:{self.environment['PATH']}"
        result = self.reproduce(program, report=report, build=True)
        self.assertGreater(result["tests"], 0)
        self.assertFalse(self.build_mentions(harness.PREFIX, "tests/build"))


class Twin(Project):
    def test_tests_of_inlined_functions_run_in_the_twin(self):
        source = SOURCE.replace("__attribute__((noinline)) size_t Width", "size_t Width")
        self.write("recrash_instrument(greeter)\nrecrash_twin(greeter)\n", source)
        self.configure()
        program = self.build()
        report = self.crash(program, died_of=signal.SIGSEGV)
        result = self.reproduce(program, "--twin", f"{program}-twin", report=report)
        self.assert_reproduced(result, "Width", "Greet")
        self.assertTrue(any(f["inlined"] and f["verdict"] == "reproduced" for f in result["frames"]))
        (self.path / "kept").mkdir()
        for name in ("crash_test.cc", "crash_test.rcr"):
            shutil.copy(self.path / "tests" / name, self.path / "kept")
        self.write("recrash_instrument(greeter)\nrecrash_twin(greeter)\n" + CRASH_TEST, source)
        self.configure()
        self.build()
        listed = self.run_command("ctest", "--test-dir", "build", expect=8).stdout
        self.assertRegex(listed, r"crash\.CrashTestInTwin\.Frame\d_Greeter_Width \(Disabled\)")
        failed = self.run_command("build/crash", "--gtest_also_run_disabled_tests", "--gtest_filter=*Width*", expect=1).stdout
        self.assertIn("happens again", failed)
        # Both targets are built anew from the fixed source.
        self.write("recrash_instrument(greeter)\nrecrash_twin(greeter)\n" + CRASH_TEST,
                   source.replace("return Width(name)", 'return Width(name ? name : "")').replace(
                       "greeting.size() + strlen(name)", "greeting.size() + (name ? strlen(name) : 0)"))
        self.build()
        self.run_command("ctest", "--test-dir", "build")


class CrashTest(Project):
    def setUp(self):
        super().setUp()
        self.write("recrash_instrument(greeter)\n")
        self.configure()
        program = self.build()
        self.keep_tests(program, self.crash(program, died_of=signal.SIGSEGV))

    def ctest(self, expect):
        return self.run_command("ctest", "--test-dir", "build", "--output-on-failure", expect=expect).stdout

    def test_is_red_until_the_fix_and_green_after_it(self):
        self.write("recrash_instrument(greeter)\n" + CRASH_TEST)
        self.configure()
        self.build()
        red = self.ctest(expect=8)
        self.assertIn("crash.CrashTest.Frame", red)
        self.assertIn("happens again", red)
        self.assertNotRegex(red, r"CrashTest\..*Passed")
        self.assertRegex(red, r"crash\.decided .* Passed")
        self.write("recrash_instrument(greeter)\n" + CRASH_TEST, source=FIXED)
        self.build()
        self.assertRegex(self.ctest(expect=0), r"Frame\d_main .* Passed")

    def test_takes_a_program_that_was_built_elsewhere_and_any_compiler(self):
        shutil.copy(self.path / "build/greeter", self.path / "installed")
        shutil.rmtree(self.path / "build")
        self.write(CRASH_TEST.replace("PROGRAM greeter", "PROGRAM installed"))
        self.configure(compiler="g++")
        self.build()
        self.assertIn("happens again", self.ctest(expect=8))

    def test_the_flags_of_the_project_are_not_for_the_tests(self):
        for flags in ("-fsanitize=address", "-stdlib=libc++"):
            with self.subTest(flags):
                self.write(f"add_compile_options({flags})\nadd_link_options({flags})\n" + CRASH_TEST)
                self.configure(compiler=harness.PREFIX / "bin/recrash-clang++")
                self.build()
                self.assertIn("happens again", self.ctest(expect=8))

    def test_a_missing_program_fails_the_tests_and_not_the_build(self):
        self.write(CRASH_TEST.replace("PROGRAM greeter", "PROGRAM gone"))
        self.configure()
        self.build()
        self.assertIn(f"{self.path}/gone", self.ctest(expect=8))

    def test_does_not_guess(self):
        self.write("recrash_add_crash_test(NAME crash PROGRAM greeter)\n")
        self.assertIn("REPORT is needed", " ".join(self.configure(expect=1).stderr.split()))


if __name__ == "__main__":
    harness.main()
