"""Functions that read a file: from a stream that has moved on, and again from its beginning, with the file in the report."""

import json
import signal

import harness


class Streams(harness.Workspace):
    """A parser that has read its input to the end: it fails again only with its stream rewound."""

    SOURCE = """
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
struct Section { std::string name; int lines; };
bool ReadWord(FILE* in, std::string& word) {
  char text[80];
  const bool found = std::fscanf(in, "%79s", text) == 1;
  word = found ? text : "";
  return found;
}
__attribute__((noinline)) int Finish(Section* section, int lines) { GUARD return section->lines = lines; }
__attribute__((noinline)) int Parse(STREAM in, const std::string& file) {
  Section top{file, 0};
  Section* section = &top;
  int lines = 0;
  std::string line;
  while (READ) {
    ++lines;
    if (line == "end") section = nullptr;
  }
  return Finish(section, lines) + static_cast<int>(top.name.size());
}
int main() {
  OPEN
  return Parse(in, "the only file") + 1;
}
"""

    def compile_parser(self, **words):
        (self.path / "input").write_text("first\nend\n")
        text = self.SOURCE
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        return self.compile_text(text)

    def check(self, **words):
        program = self.compile_parser(GUARD="", **words)
        report = self.crash(program, died_of=signal.SIGSEGV)
        # Without what a replay of main comes to, which knows where the stream stood.
        result = self.reproduce(program, "--derive", "none", report=report, build=True)
        self.assert_reproduced(result, "Finish", "Parse")
        rewound = {harness.short_name(frame["function"]): frame["rewound"] for frame in result["frames"]}
        self.assertEqual((rewound["Finish"], rewound["Parse"]), (False, True))
        self.assertRegex(self.output.stdout, r"Parse +program.cc:\d+ +reproduced \(streams rewound\)")
        text = (self.path / "tests/crash_test.cc").read_text()
        self.assertIn("frame.Rewind(1);  // `in` is put back to its beginning: an assumption", text)
        red = self.run_tests("--gtest_filter=*Parse*", expect=1)
        self.assertIn("SIGSEGV in Finish", red.stdout)
        self.compile_parser(GUARD="if (!section) return lines;", **words)
        self.assertIn("[       OK ]", self.run_tests("--gtest_filter=*Parse*").stdout)

    def test_a_file_stream(self):
        self.check(STREAM="std::istream&", READ="std::getline(in, line)", OPEN='std::ifstream in("input");')

    def test_a_string_stream(self):
        self.check(STREAM="std::istringstream&", READ="in >> line", OPEN='std::istringstream in("first end");')

    def test_a_file_of_c(self):
        self.check(STREAM="FILE*", READ="ReadWord(in, line)", OPEN='FILE* in = std::fopen("input", "r");')


class Inputs(harness.Workspace):
    """Outer frames that read their input again, from the report: by name, by descriptor, by a mapping."""

    SOURCE = """
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
struct Table { int rows = 0; };
__attribute__((noinline)) int Finish(Table* table, const char* word) {
  const int* volatile last = std::strcmp(word, "end") == 0 ? nullptr : &table->rows;
  return *last + table->rows;
}
__attribute__((noinline)) int ByName(Table* table, const char* name) {
  std::ifstream in(name);
  std::string word;
  while (in >> word) ++table->rows;
  return Finish(table, word.c_str()) + 1;
}
// The head has been read: the descriptor stands behind it, at the crash as well.
__attribute__((noinline)) int ByDescriptor(Table* table, int file) {
  char word[4] = "";
  if (lseek(file, 0, SEEK_CUR) != 5 || pread(file, word, 3, 5) != 3) return 0;
  return Finish(table, word) + 2;
}
__attribute__((noinline)) int ByMapping(Table* table, const char* name) {
  FILE* in = std::fopen(name, "r");
  if (in == nullptr) return 0;
  auto* text = static_cast<const char*>(mmap(nullptr, 8, PROT_READ, MAP_PRIVATE, fileno(in), 0));
  char word[4] = "";
  std::memcpy(word, text + 5, 3);
  return Finish(table, word) + 3;
}
__attribute__((noinline)) int Read(const char* how, const char* name) {
  Table table;
  if (*how == 'n') return ByName(&table, name) + 1;
  if (*how == 'm') return ByMapping(&table, name) + 1;
  const int file = open(name, O_RDONLY);
  if (lseek(file, 5, SEEK_SET) != 5) return 0;
  return ByDescriptor(&table, file) + 1;
}
int main(int count, char** words) { return count < 3 ? 0 : Read(words[1], words[2]) + 1; }
"""
    EMBED = {"RECRASH_OPTIONS": "files=embed"}
    NAMES = {"RECRASH_OPTIONS": "files=names"}

    def setUp(self):
        super().setUp()
        self.program = self.compile_text(self.SOURCE)

    def crash_on(self, how, name="input", text="head end\n", env=None):
        """The report of a crash over an input that is gone since."""
        path = self.path / name
        path.write_text(text)
        report = self.crash(self.program, how, name, died_of=signal.SIGSEGV, env=env or self.EMBED)
        path.unlink()
        return report

    def self_contained(self, result):
        return {harness.short_name(frame["function"]): frame["self_contained"] for frame in result["frames"]
                if frame["verdict"] == "reproduced"}

    def check_every_frame(self, how, function):
        result = self.reproduce(self.program, report=self.crash_on(how))
        self.assertEqual(self.self_contained(result), dict.fromkeys(["Finish", function, "Read", "main"], True),
                         self.output.stdout)
        self.assertNotIn("not self-contained", self.output.stdout)
        self.assertNotIn("Needs files", (self.path / "tests/crash_test.cc").read_text())

    def test_read_by_name(self):
        self.check_every_frame("name", "ByName")

    def test_read_by_descriptor(self):
        self.check_every_frame("descriptor", "ByDescriptor")

    def test_read_by_mapping(self):
        self.check_every_frame("mapping", "ByMapping")

    def test_names_alone_are_not_enough(self):
        report = self.crash_on("name", env=self.NAMES)
        result = self.reproduce(self.program, report=report)
        self.assertEqual(self.self_contained(result), {"Finish": True})
        self.assertIn("/input is missing", self.output.stdout)
        shown = self.run_command("recrash", "show", report).stdout
        self.assertIn("file input, 9 bytes, content not held, only its SHA-256 (RECRASH_OPTIONS=files=embed", shown)
        # The very file goes with the tests.
        (self.path / "input").write_text("head end\n")
        result = self.reproduce(self.program, report=report, build=True)
        self.assertIn("/input is as at the crash and goes with the tests", self.output.stderr)
        self.assertEqual(self.self_contained(result), dict.fromkeys(["Finish", "ByName", "Read", "main"], True))
        (self.path / "input").unlink()
        self.assertNotIn("SKIPPED", self.run_tests(expect=1).stdout)
        # Unless nobody wants it there; what needs it says so.
        (self.path / "input").write_text("head end\n")
        result = self.reproduce(self.program, "--no-inputs", report=report)
        self.assertEqual(self.self_contained(result), {"Finish": True, "ByName": False, "Read": False, "main": False})
        self.assertRegex(self.output.stdout, r"ByName +program.cc:\d+ +reproduced \(not self-contained\)")
        self.assertIn("need files of this machine", self.output.stderr)
        self.assertRegex((self.path / "tests/crash_test.cc").read_text().replace("\n// ", " "),
                         r"Needs files as they were: `[^`]*/input`, which the report does not hold")

    def test_recrash_run_holds_them(self):
        (self.path / "input").write_text("head end\n")
        for env, held in ((None, True), ({"RECRASH_OPTIONS": "memory=16"}, True), (self.NAMES, False)):
            self.run_command("recrash", "run", "-o", "kept", "--", self.program, "name", "input",
                             expect=128 + signal.SIGSEGV, env=env)
            (report,) = (self.path / "kept").glob("*.rcr")
            self.run_command("recrash", "show", report, "--json", "show.json")
            (shown,) = json.loads((self.path / "show.json").read_text())["inputs"]
            self.assertEqual((shown["names"], shown["size"], shown["held"]), (["input"], 9, held))
            report.unlink()

    def test_tests_run_anywhere_without_the_input(self):
        self.reproduce(self.program, report=self.crash_on("name"), build=True)
        (self.path / "input").write_text("another\n")
        (self.path / "elsewhere").mkdir()
        run = self.run_command(self.path / "tests/build/crash_test", expect=1, cwd=self.path / "elsewhere")
        self.assertNotIn("[       OK ]", run.stdout)
        self.assertEqual((self.path / "input").read_text(), "another\n")
        fixed = self.SOURCE.replace("return *last +", "if (!last) return 0;\n  return *last +")
        self.program = self.compile_text(fixed)
        self.assertNotIn("FAILED", self.run_tests().stdout)

    def test_debug_reads_it_too(self):
        result = self.reproduce(self.program, report=self.crash_on("name"), build=True)
        index = [f["index"] for f in result["frames"] if "Read" in f["function"]][0]
        run = self.run_command("recrash", "debug", "tests", "--frame", index, "--", "-batch", "-ex", "continue",
                               "-ex", "bt 3")
        self.assertIn("SIGSEGV", run.stdout, run.stderr)
        self.assertRegex(run.stdout, r"#0 .*Finish[^#]*#1 .*ByName")

    def test_a_large_one_is_named_only(self):
        text = "word " * (1 << 20) + "end\n"  # 5 MiB
        report = self.crash_on("name", text=text)
        self.assertIn("file input, 5.0 MiB, content not held, only its SHA-256 (larger than 4 MiB)",
                      self.run_command("recrash", "show", report).stdout)
        (self.path / "input").write_text(text)
        result = self.reproduce(self.program, report=report)
        self.assertEqual(self.self_contained(result), {"Finish": True, "ByName": False, "Read": False, "main": False})

    def test_a_hostile_name_does_no_harm(self):
        name = "in\n\x1b[2J\"; }`"
        (self.path / "sub").mkdir()
        result = self.reproduce(self.program, report=self.crash_on("name", name="sub/../" + name), build=True)
        self.assertEqual(self.self_contained(result), dict.fromkeys(["Finish", "ByName", "Read", "main"], True))
        self.assertNotIn("[       OK ]", self.run_tests(expect=1).stdout)
        report = self.crash_on("name", name=name, env=self.NAMES)
        shown = self.run_command("recrash", "show", report).stdout
        self.assertIn("file in\\n\\x1b[2J", shown)
        (self.path / name).write_text("head end\n")
        self.reproduce(self.program, report=report)
        noted = self.output.stderr
        self.assertIn("in\\n\\x1b[2J", noted)
        self.reproduce(self.program, "--no-inputs", report=report, build=True)
        (self.path / name).unlink()
        run = self.run_tests(expect=1)
        for text in (shown, noted, self.output.stdout, self.output.stderr, run.stdout, run.stderr):
            self.assertNotIn("\x1b", text)
        self.assertIn("is missing, and the report does not hold it", run.stderr)


class ListedInputs(harness.Workspace):
    """A program that lists its folder before it opens a file there."""

    SOURCE = """
#include <filesystem>
#include <fstream>
#include <string>
__attribute__((noinline)) int Use(const int* value) { return *value; }
__attribute__((noinline)) int Read(const std::string& name) {
  bool listed = false;
  for (const auto& entry : std::filesystem::directory_iterator(".")) listed = listed || entry.path().filename() == name;
  if (!listed) return 3;
  std::ifstream in(name);
  int value = 0;
  in >> value;
  return Use(value == 42 ? nullptr : &value) + 1;
}
int main(int, char** argv) { return Read(argv[1]) + 1; }
"""

    def test_finds_the_held_input_there(self):
        program = self.compile_text(self.SOURCE)
        (self.path / "input").write_text("42")
        report = self.crash(program, "input", died_of=signal.SIGSEGV, env={"RECRASH_OPTIONS": "files=embed"})
        (self.path / "input").unlink()
        result = self.reproduce(program, report=report)
        self.assert_reproduced(result, "Use", "Read", "main")
        self.assertTrue(all(frame["self_contained"] for frame in result["frames"] if frame["verdict"]))


if __name__ == "__main__":
    harness.main()
