"""`recrash reproduce --rerun`: state that has moved on between the entry of a function and the crash."""

import signal
import harness

# Drain takes the list apart before it fails; Visit has been entered many times at the same stack depth before; Large frees a
# block that the kernel takes back, and fills an array that nobody had touched.
SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <string>
#include <thread>
struct Item { int weight; Item* next; };
int touched[100000];
int CountDown(int n) { return n <= 0 ? 0 : n - 1; }
__attribute__((noinline)) int Weigh(Item* item) { GUARD return item->weight; }
__attribute__((noinline)) int Visit(std::list<Item*>& items) {
  Item* first = items.front();
  items.pop_front();
  return Weigh(first) + 1;  // no tail call: the frame stays
}
__attribute__((noinline)) int Drain(std::list<Item*>& items) {
  int sum = 0;
  while (!items.empty()) sum += Visit(items);
  return sum;
}
__attribute__((noinline)) int Large(std::list<Item*>& items, int* block) {
  int sum = 0;
  for (int i = 0; i < 100000; ++i) {
    if (touched[i]) return -1;
    sum += block[i];
    touched[i] = i + 1;
  }
  std::free(block);
  return sum == 100000 * 7 ? Drain(items) + 1 : -2;
}
__attribute__((noinline)) int Load(const std::string& name) {
  std::ifstream in(name);
  std::list<Item*> items;
  int weight = 0;
  while (in >> weight) items.push_back(weight ? new Item{weight, nullptr} : nullptr);
  int* block = static_cast<int*>(std::malloc(400000));
  for (int i = 0; i < 100000; ++i) block[i] = 7;
  return Large(items, block);
}
int main(int, char** argv) { BODY }
"""
PLAIN = "return Load(argv[1]) + 1;"
IN_A_CROWD = """
  for (int i = 0; i < 3; ++i) std::thread([] { for (;;) std::thread([] {}).join(); }).detach();
  return Load(argv[1]) + 1;
"""
IN_A_THREAD = "std::thread worker([&] { Load(argv[1]); }); worker.join(); return 1;"

# A plugin that the program loads after it was entered. It counts, and its initialiser makes itself known to the program.
PLUGIN = """
struct Plugin { int weight; };
extern "C" void Register(Plugin* plugin);
static int uses = 3;
static struct Registration {
  Registration() { Register(&plugin); }
  Plugin plugin{7};
} registration;
__attribute__((noinline)) int Weigh(int* item) { return *item; }
extern "C" __attribute__((noinline)) int Use(int* item) { return ++uses == 4 ? Weigh(item) + 1 : uses; }
"""
HOST = """
#include <dlfcn.h>
struct Plugin { int weight; };
static Plugin* known;
extern "C" void Register(Plugin* plugin) { known = known ? nullptr : plugin; }
__attribute__((noinline)) int Load(const char* name) {
  void* library = dlopen(name, RTLD_NOW);
  auto* use = reinterpret_cast<int (*)(int*)>(library ? dlsym(library, "Use") : nullptr);
  return use && known && known->weight == 7 ? use(nullptr) + 1 : -1;
}
int main(int, char** argv) { return Load(argv[1]) + 1; }
"""


class Rerun(harness.Workspace):
    ALL = ("Weigh", "Visit", "Drain", "Large", "Load")

    def compile_source(self, body=PLAIN, guard="", source=SOURCE):
        return self.compile_text(source.replace("GUARD", guard).replace("BODY", body), flags=("-O2", "-g", "-pthread"))

    def crash_on(self, program, items, embed=True):
        (self.path / "items").write_text(items)
        env = {"RECRASH_OPTIONS": "files=embed"} if embed else None
        return self.crash(program, "items", died_of=signal.SIGSEGV, env=env)

    def moved_on(self, result):
        return {harness.short_name(frame["function"]) for frame in result["frames"]
                if frame["verdict"] not in (None, "reproduced")}

    def test_frames_start_from_their_entry(self):
        program = self.compile_source()
        report = self.crash_on(program, "1 2 3 0 4")
        self.assertLessEqual({"Visit", "Large"}, self.moved_on(self.reproduce(program, report=report)))
        (self.path / "items").unlink()
        result = self.reproduce(program, "--rerun", report=report, build=True)
        self.assert_reproduced(result, *self.ALL, "main")
        self.assertIn("run again, it failed in the same way", self.output.stderr)
        states = {harness.short_name(frame["function"]): frame["entry_state"] for frame in result["frames"]}
        self.assertTrue(states["Visit"] and states["Large"], states)
        self.assertIn("Starts from the memory of its entry", (self.path / "tests/crash_test.cc").read_text().replace("\n// ", " "))
        self.run_tests(expect=1)
        # The fix: tests that were made before it pass.
        self.compile_source(guard="if (!item) return 0;")
        self.assertIn("[  PASSED  ]", self.run_tests().stdout)

    def test_a_function_that_is_entered_often(self):
        program = self.compile_source()
        report = self.crash_on(program, "1 " * 20000 + "0 4")
        result = self.reproduce(program, "--rerun", report=report)
        self.assert_reproduced(result, *self.ALL)

    def test_a_second_thread(self):
        program = self.compile_source(body=IN_A_THREAD)
        report = self.crash_on(program, "1 2 3 0 4")
        self.assert_reproduced(self.reproduce(program, "--rerun", report=report), *self.ALL)

    # A thread that is new when the program has failed is not known yet, and must be let go as well: a process whose thread
    # is traced does not end.
    def test_among_threads_that_come_and_go(self):
        program = self.compile_source(body=IN_A_CROWD)
        report = self.crash_on(program, "1 2 3 0 4")
        for _ in range(4):
            self.reproduce(program, "--rerun", report=report)

    def test_an_uncaught_exception(self):
        program = self.compile_source(source=SOURCE.replace("GUARD", 'if (!item) throw 5;'))
        (self.path / "items").write_text("1 2 3 0 4")
        report = self.crash(program, "items", died_of=signal.SIGABRT, env={"RECRASH_OPTIONS": "files=embed"})
        self.assert_reproduced(self.reproduce(program, "--rerun", report=report), *self.ALL)

    # What is not there the second time cannot be reproduced by running it: the report alone is what there is.
    def test_another_outcome_is_said(self):
        program = self.compile_source()
        report = self.crash_on(program, "1 2 3 0 4", embed=False)
        (self.path / "items").write_text("1 2 3")
        result = self.reproduce(program, "--rerun", report=report)
        self.assert_reproduced(result, "Weigh")
        self.assertIn("did not fail in the same way", self.output.stderr)
        self.assertIn("made from the report alone", self.output.stderr)

    def test_a_library_that_is_loaded_after_the_entry(self):
        program = self.compile_text(HOST, flags=("-O2", "-g", "-rdynamic"))
        plugin = self.compile_text(PLUGIN, output="plugin.so", flags=("-O2", "-g", "-shared", "-fPIC"))
        report = self.crash(program, plugin, died_of=signal.SIGSEGV)
        self.assertLessEqual({"Use", "Load", "main"}, self.moved_on(self.reproduce(program, report=report)))
        self.assert_reproduced(self.reproduce(program, "--rerun", report=report), "Weigh", "Use", "Load", "main")

    def test_it_says_why_it_got_nothing_and_runs_in_another_folder(self):
        """A file that the command line does not name: the temporary folder has no copy of it."""
        program = self.compile_text("""
#include <cstdio>
#include <cstring>
__attribute__((noinline)) size_t Read(const char*& name) { const char* read = name; name = "x"; return strlen(read) + 1; }
int main(int argc, char** argv) {
  std::FILE* file = std::fopen("settings", "r");
  if (!file) { std::fprintf(stderr, "\\33[31msettings: no such file\\n"); return 3; }
  std::fclose(file);
  const char* name = argv[argc];
  return Read(name) + 1;
}
""")
        (self.path / "settings").write_text("")
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, "--rerun", report=report)
        self.assertIn("it ended with exit status 3 and left no report\n  it printed at its end:\n"
                      "  | \\x1b[31msettings: no such file\n", self.output.stderr)
        self.assertIn("--rerun-in DIR", self.output.stderr)
        (self.path / "there").mkdir()
        (self.path / "settings").rename(self.path / "there/settings")
        result = self.reproduce(program, "--rerun-in", "there", report=report)
        self.assertIn("run again, it failed in the same way", self.output.stderr)
        self.assert_reproduced(result, "Read")
        self.assertEqual([each.name for each in (self.path / "there").iterdir()], ["settings"])

    def test_a_stack_overflow_is_not_run_again(self):
        program = self.compile_text("__attribute__((noinline)) int Dive(int* n) { int here = *n + 1; return Dive(&here) + here; }\n"
                                    "int main() { int n = 0; return Dive(&n); }\n", flags=("-O1", "-g"))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.reproduce(program, "--rerun", report=report)
        self.assertIn("not run again", self.output.stderr)

    def test_nothing_is_left_behind(self):
        temporary = self.path / "tmp"
        temporary.mkdir()
        program = self.compile_source()
        report = self.crash_on(program, "1 2 3 0 4")
        self.run_command("recrash", "reproduce", report, "--program", program, "-o", "tests", "--no-build", "--rerun",
                         env={"TMPDIR": str(temporary)})
        self.assertEqual(list(temporary.glob("recrash-rerun-*")), [])


if __name__ == "__main__":
    harness.main()
