"""The small programs of tests/e2e/cpp, those of tests/rebuilds/far, the samples, and those of any folder, read from their sources.

A source begins with what it shows, and then says what a test of it needs:

    // frames: Inner Outer main     functions of the failing stack that must reproduce, the innermost first
    // flags: -pthread              for the compiler, besides those of every program
    // input: 3 apples\\n            a file of this text is the program's only argument; several lines are joined by spaces
    // library                      with -DLIBRARY the source makes a shared library that the program links

-DFIXED compiles it without its bug. -DCHANGED gives a class another layout, with or without the bug. A line that ends in
`// split` is a statement that can move into a function of its own; what stands between `// part` and `// end part` can move
into another file.
"""

import dataclasses
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"cpp": ROOT / "tests/e2e/cpp", "far": ROOT / "tests/rebuilds/far"}
SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
SAMPLES = ("bst", "missing_url", "random_crash", "side_effect")


@dataclasses.dataclass(frozen=True)
class Program:
    input_name = "input.txt"
    group: str  # cpp, far, samples or other
    name: str
    file: pathlib.Path
    text: str
    frames: tuple = ()
    flags: tuple = ()
    input: str = None
    library: bool = False
    tries: int = 1  # runs until it fails

    @property
    def is_c(self):
        return self.file.suffix == ".c"

    @property
    def changes(self):
        return "CHANGED" in self.text

    @property
    def build_name(self):
        return self.name

    def place_input(self, folder):
        """Writes the input. Gives the arguments of the program that runs in `folder`."""
        if self.input is None:
            return ()
        (folder / self.input_name).write_text(self.input)
        return (self.input_name,)

    def environment(self, folder):
        return {}

    def folder_of(self, executable):
        """The folder of its build."""
        return executable.parent

    def fixed_text(self):
        """The text without the bug, and the macro that it takes."""
        if self.group != "samples":
            return self.text, ("-DFIXED",)
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / self.file.name
            copy.write_text(self.text)
            subprocess.run(["patch", "-sp1", "-i", self.file.parent / "fix.patch"], cwd=folder, check=True)
            return copy.read_text(), ()


def value(text, word):
    found = re.search(rf"^// {word}: (.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def read(group, file):
    text = file.read_text()
    given = " ".join(re.findall(r"^// input: (.*)$", text, re.MULTILINE))
    return Program(group, file.stem, file, text, frames=tuple(value(text, "frames").split()),
                   flags=tuple(value(text, "flags").split()),
                   input=given.encode().decode("unicode_escape") if given else None,
                   library=bool(re.search(r"^// library$", text, re.MULTILINE)),
                   tries=100 if file.stem == "random_crash" else 1)


def of_folder(folder, group="other"):
    """{name: Program}: each C or C++ file of a folder is a program."""
    return {file.stem: read(group, file) for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES}


def all_programs():
    programs = {name: program for group, folder in FOLDERS.items() for name, program in of_folder(folder, group).items()}
    return programs | {name: read("samples", ROOT / "samples" / name / f"{name}.cc") for name in SAMPLES}


def split(text):
    """Each marked statement becomes a call of a function of its own."""
    def moved(found):
        before, keyword, rest, end = found[1], found[2] or "", found[3], found[4] or ""
        result = " -> decltype(auto)" if keyword else ""
        return f"{before}{keyword}[&]() __attribute__((noinline)){result} {{ {keyword}{rest} }}();{end}"

    return re.sub(r"^( *|.* \{ )(return )?([^\s{][^{\n]*;)( \})?  // split$", moved, text, flags=re.MULTILINE)


def part(text):
    """(the text that includes the part, the part), or None where no part is marked. Lines keep their numbers in neither."""
    found = re.search(r"^// part\n(.*?)^// end part\n", text, re.MULTILINE | re.DOTALL)
    if not found:
        return None
    return text[:found.start()] + '#include "part.h"\n' + text[found.end():], found[1]
