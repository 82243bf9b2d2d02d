"""recrash why: for each kind of origin a small program in `why/`, whose trail is compared as text.

NAME.txt beside NAME.cc is its trail without optimisation; `test_why.py --write` writes them: read the difference before it is
committed. With optimisation the trail comes to the same cause: the line that ends in `// cause`.
"""

import html.parser
import json
import pathlib
import re
import shutil
import signal
import struct
import sys
import unittest
import xml.etree.ElementTree

import harness

WRITE = "--write" in sys.argv
SOURCES = pathlib.Path(__file__).resolve().parent / "why"
# The memory of the crash holds what the cause left behind, so main's own has to be known.
FROM_THE_BEGINNING = ("earlier_call",)
# With optimisation a constant has the line of its function, a function that ends in a jump to free() has no frame, and what is
# chosen without a value is not chosen at all.
NOT_OPTIMISED = ("bad_index", "freed", "reused", "uninitialised")


def normalised(text):
    """Without addresses, times and counts, which differ from run to run."""
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    text = re.sub(r"descriptor \d+", "descriptor N", text)
    return re.sub(r"replayed \d+ times from (.*), in [0-9.]+ s", r"replayed from \1", text)


class Trails(harness.Workspace):
    def explain(self, name, level, *options):
        # The source beside the program: assertions name it.
        shutil.copy(SOURCES / f"{name}.cc", self.path)
        program = self.compile(f"{name}.cc", output=f"{name}{level}", flags=("-std=c++20", f"-O{level}", "-g", "-w"))
        (self.path / "input").write_bytes(struct.pack("<II", 1, 0x30000000))
        dies_of = signal.SIGABRT if name in ("assertion", "floating") else signal.SIGSEGV
        self.crash(program, "input", died_of=dies_of)
        rerun = ("--rerun",) if name in FROM_THE_BEGINNING else ()
        return self.run_command("recrash", "why", "--program", program, *rerun, *options).stdout

    def test_as_text(self):
        for source in sorted(SOURCES.glob("*.cc")):
            with self.subTest(source.stem):
                told = normalised(self.explain(source.stem, 0))
                expected = source.with_suffix(".txt")
                if WRITE:
                    expected.write_text(told)
                self.assertEqual(told, expected.read_text())
                self.assertIn("// cause", told)

    def test_optimised(self):
        for source in sorted(SOURCES.glob("*.cc")):
            if source.stem in NOT_OPTIMISED:
                continue
            cause = next(number for number, line in enumerate(source.read_text().splitlines(), 1) if line.endswith("// cause"))
            with self.subTest(source.stem):
                links = json.loads(self.explain(source.stem, 2, "--json", "-"))["links"]
                self.assertIn(cause, [link["line"] for link in links])


class Elements(html.parser.HTMLParser):
    """Elements that are left open or closed twice, steps by their id, and what a browser would load."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.steps, self.loads = [], [], {}, []

    def handle_starttag(self, tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href", "xlink:href") and not value.startswith("#")]
        if dict(attributes).get("id", "").startswith("s") and tag == "li":
            self.steps[dict(attributes)["id"]] = ""
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if "li" in self.open and self.steps:
            self.steps[list(self.steps)[-1]] += data


class Pages(harness.Workspace):
    def explained(self):
        shutil.copy(SOURCES / "freed.cc", self.path)
        program = self.compile("freed.cc", output="freed", flags=("-std=c++20", "-O0", "-g", "-w"))
        self.crash(program, died_of=signal.SIGSEGV)
        (self.path / "why.html").write_text("an older page")
        said = self.run_command("recrash", "why", "--program", program, "--json", "why.json", "--html", "why.html",
                                "--sarif", "why.sarif")
        self.assertIn("freed here", said.stdout)
        return json.loads((self.path / "why.json").read_text())["links"]

    def test_page_and_sarif(self):
        links = self.explained()
        self.assertEqual(sorted(file.name for file in self.path.glob("why.*")), ["why.html", "why.json", "why.sarif"])
        self.check_page((self.path / "why.html").read_text(), links)
        self.check_sarif(json.loads((self.path / "why.sarif").read_text()), links)

    def check_page(self, page, links):
        elements = Elements()
        elements.feed(page)
        elements.close()
        self.assertEqual((elements.open, elements.wrong, elements.loads), ([], [], []))
        xml.etree.ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
        self.assertNotRegex(page, "https?:")
        self.assertEqual(list(elements.steps), [f"s{number}" for number in range(1, len(links) + 1)])
        lines = (SOURCES / "freed.cc").read_text().splitlines()
        for link, step in zip(links, elements.steps.values()):
            self.assertIn(f"{link['function']}: {link['text']}", step)
            self.assertIn(f"▸ {link['line']}{lines[link['line'] - 1].strip()}", re.sub(r"(▸ \d+) *", r"\1", step))
            self.assertIn(link["value"], step)
            self.assertIn(lines[link["line"] - 2].strip(), step)  # the source around it
        self.assertIn(f"recrash debug {next(self.reports.glob('*.rcr'))}", page)

    def check_sarif(self, sarif, links):
        result = sarif["runs"][0]["results"][0]
        self.assertEqual((sarif["version"], result["level"]), ("2.1.0", "error"))
        flow = [step["location"] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
        places = [(place["physicalLocation"]["artifactLocation"]["uri"], place["physicalLocation"]["region"]["startLine"])
                  for place in flow]
        self.assertEqual(places, [("freed.cc", link["line"]) for link in reversed(links)])
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"]["startLine"], links[0]["line"])

    def test_a_page_that_cannot_be_written(self):
        shutil.copy(SOURCES / "constant.cc", self.path)
        program = self.compile("constant.cc", output="constant", flags=("-std=c++20", "-O0", "-g", "-w"))
        self.crash(program, died_of=signal.SIGSEGV)
        said = self.run_command("recrash", "why", "--program", program, "--html", "nosuch/why.html", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("nosuch/why.html: page not written: No such file or directory", said.stderr)
        self.assertIn("// cause", said.stdout)  # what was found is told all the same
        said = self.run_command("recrash", "why", "--json", "-", "--html", "-", expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("only one of", said.stderr)


class Refused(harness.Workspace):
    def crashed(self):
        program = self.compile_text("int main(int count, char** words) { return *reinterpret_cast<int*>(count - 1); }")
        self.crash(program, died_of=signal.SIGSEGV)
        return program

    def test_another_build(self):
        program = self.crashed()
        self.reproduce(program)
        other = self.compile_text("int main() { return 1; }", output="other")
        said = self.run_command("recrash", "why", "tests", "--program", other, expect=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertEqual(said.stdout, "")

    def test_nothing_reproduces(self):
        program = self.compile_text("#include <unistd.h>\n"
                                    "int main() { if (getppid() != 0) __builtin_trap(); }", output="main_alone")
        self.crash(program, died_of=signal.SIGILL)
        said = self.run_command("recrash", "why", "--program", program, expect=4)
        self.assertIn("no frame reproduces the crash", said.stderr)

    def test_no_such_frame(self):
        said = self.run_command("recrash", "why", "--program", self.crashed(), "--frame", "77", expect=4)
        self.assertIn("frame 77 does not reproduce", said.stderr)


if __name__ == "__main__":
    if WRITE:
        sys.argv.remove("--write")
    unittest.main()
