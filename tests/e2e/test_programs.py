"""Programs of other shapes than the samples: many files with libraries, threads, C, plain builds, failures noticed."""

import json
import re
import shutil
import signal

import harness
import situation


def many_files(path):
    """Twenty source files: a program, a static library and a shared one; the crash lies in the shared one."""
    for i in range(20):
        following = f"size_t Step{i + 1}(Walk* walk, const std::string& text);" if i < 19 else ""
        call = f"return Step{i + 1}(walk, text) + 1;" if i < 19 else "return walk->At(walk->steps + text.size());"
        (path / f"step{i}.cc").write_text(f"""
#include "walk.h"
{following}
__attribute__((noinline)) size_t Step{i}(Walk* walk, const std::string& text) {{
  walk->steps += {i};
  {call}
}}
""")
    (path / "walk.h").write_text("""
#include <string>
struct Walk {
  long steps = 0;
  size_t* table = nullptr;
  size_t At(long index) const;
};
""")
    (path / "walk.cc").write_text("""
#include "walk.h"
size_t Walk::At(long index) const { return table[index]; }
""")
    (path / "main.cc").write_text("""
#include "walk.h"
size_t Step0(Walk* walk, const std::string& text);
int main(int argc, char** argv) {
  Walk walk;
  return Step0(&walk, argc > 1 ? argv[1] : "abc") != 0;
}
""")


class ManyFiles(harness.Workspace):
    FLAGS = ("-O2", "-g", "-fPIC", "-I.")

    def build(self):
        many_files(self.path)
        for i in range(20):
            self.run_command("recrash-clang++", *self.FLAGS, "-c", f"step{i}.cc", "-o", f"step{i}.o")
        self.build_library()
        self.run_command("ar", "rc", "libsteps.a", *[f"step{i}.o" for i in range(1, 10)])
        self.build_program()

    def build_library(self):
        self.run_command("recrash-clang++", *self.FLAGS, "-c", "walk.cc", "-o", "walk.o")
        self.run_command("recrash-clang++", "-shared", *[f"step{i}.o" for i in range(10, 20)], "walk.o", "-o",
                         "libwalk.so")

    def build_program(self):
        self.run_command("recrash-clang++", *self.FLAGS, "main.cc", "step0.o", "libsteps.a", "-L.", "-lwalk",
                         "-Wl,-rpath,$ORIGIN", "-o", "program")

    def test_static_and_shared_library(self):
        self.build()
        report = self.crash(self.path / "program", died_of=signal.SIGSEGV)
        result = self.reproduce("./program", report=report)
        # Step19 ends in a tail call: its frame is gone.
        self.assert_reproduced(result, "At", "Step18", "Step12", "Step5", "Step0", "main")

    def test_a_fix_in_the_shared_library(self):
        self.build()
        program = (self.path / "program").read_bytes()
        report = self.crash(self.path / "program", died_of=signal.SIGSEGV)
        self.reproduce("./program", report=report, build=True)
        self.assertIn("SIGSEGV in Walk::At", self.run_tests(expect=1).stdout)
        # Another build with the bug still in it.
        walk = self.path / "walk.cc"
        walk.write_text("int moved[500] = {1};\n" + walk.read_text())
        self.build_library()
        self.assertIn("SIGSEGV in Walk::At", self.run_tests(expect=1).stdout)
        walk.write_text(walk.read_text().replace("return table[index];", "return table ? table[index] : 0;"))
        self.build_library()
        self.assertEqual((self.path / "program").read_bytes(), program)
        self.assertNotIn("FAILED", self.run_tests().stdout)
        main = self.path / "main.cc"
        main.write_text("int moved_too[500] = {1};\n" + main.read_text())
        self.build_program()
        self.assertNotIn("FAILED", self.run_tests().stdout)


class Threads(harness.Workspace):
    def test_a_second_thread_crashes(self):
        program = self.compile_text("""
#include <atomic>
#include <thread>
struct Job { int* slot; int index; };
std::atomic<bool> started{false};
__attribute__((noinline)) int Take(Job* job) { return job->slot[job->index]; }
__attribute__((noinline)) int Work(Job* job, int rounds) { int sum = 0; for (int i = 0; i < rounds; ++i) sum += Take(job); return sum; }
int main() {
  Job job{nullptr, 3};
  std::thread idle([] { started = true; for (;;) std::this_thread::yield(); });
  while (!started) std::this_thread::yield();
  std::thread worker([&] { job.index = Work(&job, 5); });
  worker.join();
}
""", flags=("-O2", "-g", "-pthread"))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "Take", "Work")

    def test_a_second_thread_overflows_its_stack(self):
        program = self.compile_text("""
#include <thread>
struct Node { Node* next; int value; };
__attribute__((noinline)) int Sum(const Node* node, int depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  return node->value + Sum(node->next, depth + 1) + room[0];
}
int main() {
  Node ring{nullptr, 1};
  ring.next = &ring;
  std::thread worker([&] { ring.value = Sum(&ring, 0); });
  worker.join();
}
""", flags=("-O2", "-g", "-pthread"))
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "Sum")


class Signals(harness.Workspace):
    """Every signal that is caught has its report, and the tests die of the same one."""

    def check(self, body, died_of, *functions):
        program = self.compile_text(f"""
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
struct Box {{ int* slot; int count; char* page; }};
__attribute__((noinline)) int Fail(Box* box, int divisor) {{ {body} }}
__attribute__((noinline)) int Outer(Box* box) {{ int result = Fail(box, box->count); return result + box->count; }}
int main() {{
  Box box{{nullptr, 0, nullptr}};
  return Outer(&box);
}}
""")
        report = self.crash(program, died_of=died_of)
        self.assert_reproduced(self.reproduce(program, report=report), *(functions or ("Fail", "Outer")))

    def test_sigfpe(self):
        self.check("return 100 / divisor;", signal.SIGFPE)

    def test_sigill(self):
        self.check("if (!divisor) __builtin_trap(); return box->count;", signal.SIGILL)

    def test_sigtrap(self):
        self.check("if (!divisor) __builtin_debugtrap(); return box->count;", signal.SIGTRAP)

    def test_sigabrt_of_an_assertion(self):
        self.check("assert(divisor != 0); return box->count;", signal.SIGABRT)

    def test_sigbus(self):
        """A page of a mapped file that lies behind the file's end."""
        (self.path / "data").write_bytes(b"x")
        self.check("static char* page; if (!page) page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE,"
                   'open("data", O_RDONLY), 0)); box->page = page; return page[4096 + divisor];', signal.SIGBUS)

    def test_a_call_into_data(self):
        """Its own frame has no code: the place is its caller's, wherever the data lies in a replay."""
        self.check("static char code[16]; box->page = code; int (*call)(int) = reinterpret_cast<int (*)(int)>(box->page); "
                   'asm volatile("" : "+r"(call)); return call(divisor) + box->count;', signal.SIGSEGV)

    def test_signals_that_others_send(self):
        for died_of in (signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGQUIT):
            with self.subTest(died_of):
                self.check(f"if (!divisor) raise({died_of.name}); return box->count;", died_of)

    def test_double_free(self):
        self.check("box->page = static_cast<char*>(malloc(100)); char* p = box->page; free(p); "
                   'asm volatile("" : "+r"(p)); free(p); return divisor;', signal.SIGABRT)


class Exceptions(harness.Workspace):
    SOURCE = """
#include <stdexcept>
#include <string>
struct Shop { std::string name; int stock; };
__attribute__((noinline)) int Sell(Shop* shop, int wanted) {
  if (wanted > shop->stock) throw std::range_error(shop->name + " has no " + std::to_string(wanted));
  return shop->stock - wanted;
}
__attribute__((noinline)) int Serve(Shop* shop, int customers) NOEXCEPT {
  int left = 0;
  for (int i = 1; i <= customers; ++i) left = Sell(shop, i);
  return left;
}
int main() {
  Shop shop{"corner shop", 4};
  return Serve(&shop, 9);
}
"""

    def check(self, noexcept, *functions):
        program = self.compile_text(self.SOURCE, flags=("-O2", "-g", f"-DNOEXCEPT={noexcept}"))
        report = self.crash(program, died_of=signal.SIGABRT)
        result = self.reproduce(program, report=report)
        self.assertIn("std::range_error", json.dumps(result["failure"]))
        self.assertIn("corner shop has no 5", json.dumps(result["failure"]))
        self.assert_reproduced(result, *functions)

    def test_nobody_catches_it(self):
        self.check("", "Sell", "Serve")

    def test_thrown_through_noexcept(self):
        self.check("noexcept", "Sell", "Serve")

    # The agent copies the stack at a throw. Where a fiber's stack ends it does not know, and copies what lies behind it, too.
    def test_thrown_on_a_stack_right_below_constants(self):
        main = """
#include <sys/mman.h>
#include <ucontext.h>
Shop shop{"corner shop", 4};
ucontext_t before, fiber;
void Run() { Serve(&shop, 9); }
int main() {
  constexpr size_t kSize = 128 << 10;
  char* low = static_cast<char*>(mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(low + kSize, kSize, PROT_READ);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = low;
  fiber.uc_stack.ss_size = kSize;
  fiber.uc_link = &before;
  makecontext(&fiber, Run, 0);
  return swapcontext(&before, &fiber);
}
"""
        program = self.compile_text(self.SOURCE.partition("int main")[0] + main, flags=("-O2", "-g", "-DNOEXCEPT="))
        report = self.crash(program, died_of=signal.SIGABRT)
        self.assert_reproduced(self.reproduce(program, report=report), "Sell", "Serve")

    # Many programs catch everything in main, say so, and exit.
    def test_caught_in_main(self):
        caught = self.SOURCE.replace("  return Serve(&shop, 9);", "  try { return Serve(&shop, 9); } catch (const std::exception&) { return 3; }")
        flags = ("-O2", "-g", "-DNOEXCEPT=")
        program = self.compile_text(caught, flags=flags)
        self.environment["RECRASH_OPTIONS"] = "exceptions=main"
        self.run_command(program, expect=3)
        report, = self.reports.glob("*.rcr")
        result = self.reproduce(program, report=report, build=True)
        self.assert_reproduced(result, "Sell", "Serve")
        # To throw another one is no fix: main would catch that, too.
        for text, level in ((caught, "-O0"), (caught.replace("range_error", "length_error"), "-O2")):
            self.compile_text(text, flags=(level, *flags[1:]))
            self.assertNotIn("[       OK ]", self.run_tests(expect=1).stdout)


class Reported(harness.Workspace):
    SOURCE = """
#include <recrash/recrash.h>
#include <cstdio>
struct Gauge { int level; int limit; };
__attribute__((noinline)) void Check(Gauge* gauge, int step) {
  if (gauge->level + step > gauge->limit) RECRASH_REPORT("level above the limit");
}
__attribute__((noinline)) int Fill(Gauge* gauge, int step) { Check(gauge, step); return gauge->level; }
int main() {
  Gauge gauge{90, 100};
  std::printf("%d\\n", Fill(&gauge, 20));
  return 0;
}
"""

    def test_the_program_goes_on_and_the_test_fails(self):
        program = self.compile_text(self.SOURCE)
        result = self.run_command(program)
        self.assertEqual(result.stdout, "90\n")
        (report,) = self.reports.glob("*.rcr")
        result = self.reproduce(program, report=report)
        self.assertIn("level above the limit", json.dumps(result["failure"]))
        self.assert_reproduced(result, "Check", "Fill")

    # The program refers to nothing of it, so that the linker would not export it.
    def test_in_a_library_that_the_program_opens(self):
        library = self.SOURCE.replace("int main()", 'extern "C" int Open()')
        (self.path / "library.cc").write_text(library)
        self.run_command("recrash-clang++", "-O2", "-g", "-fPIC", "-shared", "library.cc", "-o", "library.so")
        host = """
#include <dlfcn.h>
int main() { return reinterpret_cast<int (*)()>(dlsym(dlopen("./library.so", RTLD_NOW), "Open"))(); }
"""
        for flags in ((), ("-fuse-ld=lld",), ("-fuse-ld=gold",), ("-static-libstdc++",)):
            with self.subTest(flags):
                self.run_command(self.compile_text(host, flags=("-O2", "-g", *flags)))
                report, = self.reports.glob("*.rcr")
                report.unlink()

    def test_links_without_the_agent(self):
        (self.path / "plain.cc").write_text(self.SOURCE)
        self.run_command("g++", "-O2", f"-I{harness.PREFIX}/include", "plain.cc", "-o", "plain")
        self.assertEqual(self.run_command("./plain").stdout, "90\n")


class Plain(harness.Workspace):
    """A program that was never instrumented, under `recrash run`."""

    SOURCE = """
#include <stdio.h>
#include <string.h>
struct item { const char* name; int count; };
__attribute__((noinline)) static size_t measure(const struct item* item, int extra) {
  return strlen(item->name) + (size_t)(item->count + extra);
}
__attribute__((noinline)) static size_t total(const struct item* items, int n) {
  size_t sum = 0;
  for (int i = 0; i < n; i++) sum += measure(&items[i], i);
  return sum;
}
int main(void) {
  struct item items[2] = {{"one", 1}, {NULL, 2}};
  printf("%zu\\n", total(items, 2));
  return 0;
}
"""

    def check(self, compiler):
        (self.path / "plain.c").write_text(self.SOURCE)
        self.run_command(*compiler, "-g", "plain.c", "-o", "plain")
        self.run_command("recrash", "run", "--", "./plain", expect=139)
        (report,) = self.reports.glob("*.rcr")
        self.assert_reproduced(self.reproduce("./plain", report=report), "measure", "total")

    def test_gcc_without_optimisation(self):
        self.check(("gcc", "-O0"))

    def test_clang_without_optimisation(self):
        self.check(("clang-19", "-O0"))

    # The call site that the frame of Visit returns to is of Leaf::Accept, whose last deed was a jump to it.
    def test_double_dispatch(self):
        self.run_command("clang++-19", "-std=c++20", "-O2", "-g", situation.FOLDER / "tail_calls.cc", "-o", "plain")
        self.run_command("recrash", "run", "--", "./plain", "visited", expect=139)
        (report,) = self.reports.glob("*.rcr")
        shown = json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)
        visit = next(frame for frame in shown["frames"] if harness.short_name(frame["function"]) == "Visit")
        self.assertEqual([each["value"] for each in visit["parameters"] if each["name"] == "this"], ["Counter {seen = 0}"])
        # Its node is in no register any more. Run again, or in a replay of its caller, the program is seen to hand it over.
        def node_of_visit(*options):
            self.reproduce("./plain", *options, report=report)
            test = (self.path / "tests" / "crash_test.cc").read_text().partition("_Counter_Visit)")[2].partition("}\n\n")[0]
            return re.search(r"node = .* // (?:at the crash: )?(\w+)", test)[1]
        self.assertEqual(node_of_visit("--derive", "none"), "Counter")
        self.assertEqual(node_of_visit("--rerun"), "Leaf")


class MovedInstallation(harness.Workspace):
    """An installed tree is copied elsewhere: what it builds finds the collector of the copy."""

    SOURCE = "int main(int argc, char** argv) { volatile int* p = argc > 1 ? &argc : nullptr; return *p; }\n"

    def setUp(self):
        super().setUp()
        self.moved = self.path / "moved"
        shutil.copytree(harness.PREFIX, self.moved, symlinks=True)
        self.environment["PATH"] = f"{self.moved}/bin:{self.environment['PATH']}"
        (self.path / "program.cc").write_text(self.SOURCE)
        collector = self.moved / "bin/recrash-collector"
        collector.rename(self.moved / "bin/real-collector")
        collector.write_text(f"#!/bin/sh\ntouch {self.path}/ran\nexec {self.moved}/bin/real-collector \"$@\"\n")
        collector.chmod(0o755)

    def check(self, *flags):
        (self.path / "ran").unlink(missing_ok=True)
        self.run_command("recrash-clang++", "-O1", "-g", *flags, "program.cc", "-o", "program")
        self.crash("./program", died_of=signal.SIGSEGV)
        self.assertTrue((self.path / "ran").exists(), flags)

    def test_by_each_linker(self):
        lld = f"-fuse-ld=lld-{harness.LLVM}"
        for flags in ((), (lld, "-Wl,--gc-sections"), ("-fuse-ld=gold",), ("-no-pie",), ("-static-pie",), ("-flto", lld),
                      ("-recrash-mode=adaptive", "-shared-libgcc")):
            with self.subTest(flags=flags):
                self.check(*flags)

    # The program has no such text, and is linked all the same. Its collector is where the product was built for.
    def test_nothing_is_instrumented(self):
        for flags in ((), (f"-fuse-ld=lld-{harness.LLVM}",), ("-fuse-ld=gold",), ("-no-pie",)):
            with self.subTest(flags=flags):
                self.run_command(f"clang++-{harness.LLVM}", "-O1", "-c", "program.cc", "-o", "program.o")
                self.run_command("recrash-clang++", *flags, "program.o", "-o", "program")
                self.crash("./program", died_of=signal.SIGSEGV,
                           env={"RECRASH_COLLECTOR": str(self.moved / "bin/real-collector")})


class C(harness.Workspace):
    def test_a_c_program_with_the_wrapper(self):
        program = self.compile_text(Plain.SOURCE, suffix=".c")
        report = self.crash(program, died_of=signal.SIGSEGV)
        self.assert_reproduced(self.reproduce(program, report=report), "total", "main")


class Static(harness.Workspace):
    def test_the_runtime_in_the_program(self):
        program = self.compile_text(Exceptions.SOURCE, flags=("-O2", "-g", "-DNOEXCEPT=", "-static-libstdc++",
                                                              "-static-libgcc"))
        report = self.crash(program, died_of=signal.SIGABRT)
        self.assert_reproduced(self.reproduce(program, report=report), "Sell", "Serve")

    def test_a_static_program_has_a_report_but_no_replay(self):
        program = self.compile_text(Exceptions.SOURCE, flags=("-O2", "-g", "-DNOEXCEPT=", "-static"))
        report = self.crash(program, died_of=signal.SIGABRT)
        self.assertIn("Sell", self.run_command("recrash", "show", report).stdout)
        result = self.run_command("recrash", "reproduce", report, "--program", program, "--no-build", expect=4)
        self.assertIn("static", result.stderr)


class Overrun(harness.Workspace):
    """A program that runs over the end of its own data, and would over the agent, which is linked behind it."""

    SOURCE = """
#include <cstdio>
#include <cstring>
struct Tape { char* at; long length; };
char g_cells[256];
__attribute__((noinline)) void Fill(Tape* tape, long count) {
  for (long i = 0; i < count; ++i) tape->at[tape->length + i] = 'A';
}
__attribute__((noinline)) int Play(Tape* tape, const char* notes) {
  Fill(tape, static_cast<long>(std::strlen(notes)) << 16);
  return tape->at[0];
}
int main() {
  Tape tape{g_cells, 0};
  std::printf("%d\\n", Play(&tape, "C"));
  return 0;
}
"""

    def check(self, *flags):
        program = self.compile_text(self.SOURCE, flags=("-O2", "-g", *flags))
        report = self.crash(program, died_of=signal.SIGSEGV)
        shown = self.run_command("recrash", "show", report, "--program", program).stdout
        self.assertRegex(shown, r"SIGSEGV in Fill at program.cc:7")
        return program, report

    def test_is_reported_and_reproduced(self):
        for flags in ((), ("-fuse-ld=lld",), ("-no-pie",)):
            with self.subTest(flags=flags):
                program, report = self.check(*flags)
                self.assert_reproduced(self.reproduce(program, report=report), "Fill", "Play")
                report.unlink()

    def test_is_reported_in_a_static_program(self):
        self.check("-static")


class Tests(harness.Workspace):
    """What the generated tests are to those who run them."""

    def setUp(self):
        super().setUp()
        self.program = self.compile_sample("missing_url")
        self.report = self.crash(self.program, died_of=signal.SIGABRT)
        self.result = self.reproduce(self.program, report=self.report, build=True)

    def test_lists_filters_and_writes_xml(self):
        listing = self.run_tests("--gtest_list_tests")
        self.assertIn("GetUrl", listing.stdout)
        self.run_tests("--gtest_filter=*GetUrl*", "--gtest_output=xml:out.xml", expect=1)
        self.assertIn('failures="1"', (self.path / "out.xml").read_text())

    def test_a_crash_is_a_failed_test_and_not_the_end_of_the_run(self):
        run = self.run_tests(expect=1)
        self.assertIn(f"{self.result['tests']} FAILED TEST", run.stdout)

    def test_expect_fail_turns_them_round(self):
        self.run_tests("--expect=fail")

    def test_runs_where_ptrace_is_refused(self):
        """Plain ASLR and rebasing."""
        program = self.compile_text("""
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int, char** argv) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
  execv(argv[1], argv + 1);
  return 98;
}
""", output="no_ptrace", flags=("-O1", "-fno-recrash"))
        run = self.run_command(program, self.path / "tests/build/crash_test", expect=1)
        self.assertNotIn("[       OK ]", run.stdout)

    def test_debug_stops_at_the_first_line_with_the_arguments(self):
        index = [f["index"] for f in self.result["frames"] if "GetUrl" in f["function"]][0]
        run = self.run_command("recrash", "debug", "tests", "--frame", index, "--", "-batch", "-ex", "info args",
                               "-ex", "continue", "-ex", "bt 3")
        self.assertEqual(run.stdout.count("index = 2"), 1, run.stdout + run.stderr)
        self.assertIn("SIGABRT", run.stdout)


if __name__ == "__main__":
    harness.main()
