#!/usr/bin/env python3
"""What a program adds to its reports does not disturb replays; and plug-ins of programs that are not ours."""

import json
import subprocess

from harness import LLVM, Workspace, main

SIGSEGV = 11

LETTER = """
#include <recrash/recrash.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
struct Document { std::string name; int* pages = nullptr; };
int Ask(const recrash_failure*, void* data) { return data == nullptr; }
__attribute__((noinline)) void Turn(Document* document, const std::string& colour) {
  RECRASH_NOTE("colour", colour.c_str());
  if (colour == "red") ++*document->pages;
}
__attribute__((noinline)) void Open(Document* document) {
  RECRASH_NOTE("document", document->name.c_str());
  RECRASH_ATTACH("settings");
  RECRASH_LOG("log");
  RECRASH_BEFORE_REPORT(Ask, nullptr, 1);
  std::ofstream("log", std::ios::app) << "opening " << document->name << "\\n";
  std::ifstream settings("settings");
  std::string colour;
  settings >> colour;
  Turn(document, colour);
}
int main(int count, char** arguments) {
  Document document{arguments[1]};
  int pages = 0;
  if (count > 5) document.pages = &pages;
  Open(&document);
}
"""


class Additions(Workspace):
    def setUp(self):
        super().setUp()
        self.program = self.compile_text(LETTER)
        (self.path / "settings").write_text("red\n")
        self.report = self.crash(self.program, "summer.odt", died_of=SIGSEGV)

    def show(self, report, *options):
        return json.loads(self.run_command("recrash", "show", report, "--program", self.program, *options, "--json", "-").stdout)

    def test_frames_reproduce_with_the_attached_file(self):
        (self.path / "settings").unlink()
        (self.path / "log").unlink()
        self.assert_reproduced(self.reproduce(self.program, "--derive", "none", report=self.report, build=True), "Turn", "Open")
        self.assertIn("SIGSEGV in Turn", self.run_tests("--gtest_filter=*Open*", expect=1).stdout)
        self.assertEqual(len(list(self.reports.glob("*.rcr"))), 1, "a replay makes no report")
        self.assertFalse((self.path / "log").exists())
        beside = self.show("tests/crash_test.rcr")
        self.assertEqual((beside["program_notes"], beside["logs"]), ([], []), "tests need neither")

    def test_they_are_shown_and_taken_out(self):
        shown = self.show(self.report)
        self.assertEqual({note["key"]: note["value"] for note in shown["program_notes"]},
                         {"document": "summer.odt", "colour": "red"})
        self.assertEqual([log["kind"] for log in shown["logs"]], ["log"])
        self.assertEqual(self.show(self.report, "--log")["logs"][0]["text"], "opening summer.odt\n")
        self.assertIn({"attached": str(self.path / "settings"), "path": str(self.path / "settings"), "held": True},
                      self.show(self.report, "--files")["files"])
        self.run_command("recrash", "redact", self.report, "--notes", "--logs", "--files", "-o", "less.rcr")
        less = self.show("less.rcr", "--log")
        self.assertEqual([log["text"] for log in less["logs"]], [""])
        self.assertEqual(self.show("less.rcr")["program_notes"], [])
        self.assertFalse(any(file["held"] for file in self.show("less.rcr", "--files")["files"]))
        # The notes are nowhere else in the report either.
        self.assertNotIn("\0summer.odt", self.run_command("recrash", "show", "less.rcr", "--strings").stdout)


class Dumped(Workspace):
    """recrash dump, of a program that has not failed."""

    def test_has_the_notes(self):
        program = self.compile_text("""
#include <recrash/recrash.h>
#include <cstdio>
#include <unistd.h>
int main() {
  RECRASH_NOTE("document", "summer.odt");
  std::puts("ready");
  std::fflush(stdout);
  pause();
}
""")
        running = subprocess.Popen([program], stdout=subprocess.PIPE, env=self.environment)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        running.stdout.readline()
        self.run_command("recrash", "dump", running.pid)
        (report,) = self.reports.glob("*.rcr")
        shown = json.loads(self.run_command("recrash", "show", report, "--json", "-").stdout)
        self.assertEqual(shown["program_notes"], [{"key": "document", "value": "summer.odt", "cut": False}])
        self.assertFalse([loss for loss in shown["losses"] if "MADV_DONTDUMP" in loss])


HOST = """
#include <dlfcn.h>
int main(int count, char** arguments) {
  void* plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  int (*run)(int) = (int (*)(int))dlsym(plugin, "RunFilter");
  return run(count) + 1;
}
"""

FILTER = """
#include <vector>
namespace filter {
struct Image {
  int width;
  std::vector<int> pixels;
  const int* Row(int y) const { return y * width < static_cast<int>(pixels.size()) ? &pixels[y * width] : nullptr; }
};
__attribute__((noinline)) int SumRow(const Image& image, int y) {
  const int* row = image.Row(y);
  GUARD
  int sum = 0;
  for (int x = 0; x < image.width; ++x) sum += row[x];
  return sum;
}
__attribute__((noinline)) int Blur(const Image& image, int rows) {
  int all = 0;
  for (int y = 0; y < rows; ++y) all += SumRow(image, y);
  return all;
}
}
extern "C" int RunFilter(int count) {
  filter::Image image{4, std::vector<int>(16)};
  return filter::Blur(image, count + 3) + count;
}
"""


class Plugin(Workspace):
    """The host is compiled without recrash, and knows nothing of it."""

    def link(self, guard, mode="references"):
        (self.path / "filter.cc").write_text(FILTER.replace("GUARD", guard))
        self.run_command("recrash-clang++", "-O2", "-g", "-fPIC", "-shared", "-recrash-plugin", f"-recrash-mode={mode}",
                         "filter.cc", "-o", "filter.so")

    def setUp(self):
        super().setUp()
        (self.path / "host.c").write_text(HOST)
        self.host = self.path / "host"
        self.run_command(f"clang-{LLVM}", "-O1", "-g", "host.c", "-ldl", "-o", self.host)

    def test_frames_reproduce_in_the_host(self):
        for mode in ("references", "adaptive"):
            self.link("", mode)
            report = self.crash(self.host, "./filter.so", died_of=SIGSEGV)
            self.assert_reproduced(self.reproduce(self.host, report=report, build=True), "SumRow", "Blur", "RunFilter", "main")
            self.assertIn("SIGSEGV in filter::SumRow", self.run_tests("--gtest_filter=*Blur*", expect=1).stdout)

    def test_turn_green_with_the_plugin_that_is_fixed(self):
        self.link("")
        self.reproduce(self.host, report=self.crash(self.host, "./filter.so", died_of=SIGSEGV), build=True)
        self.link("if (!row) return 0;")
        self.assertIn("[       OK ]", self.run_tests("--gtest_filter=*Blur*").stdout)

    def test_shows_nothing_of_the_agent_to_the_host(self):
        self.link("")
        symbols = subprocess.run(["nm", "-D", "--defined-only", self.path / "filter.so"], capture_output=True, text=True,
                                 check=True).stdout
        for name in ("recrash", "pthread_create", "sigaction", "__cxa_throw"):
            self.assertNotIn(name, symbols)
        self.assertIn("NODELETE", subprocess.run(["readelf", "-d", self.path / "filter.so"], capture_output=True, text=True,
                                                 check=True).stdout)


if __name__ == "__main__":
    main()
