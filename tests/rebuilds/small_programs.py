"""The small programs of tests/e2e/cpp, those of tests/rebuilds/far, and the samples, read from their sources.

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
SAMPLES = ("bst", "missing_url", "random_crash", "side_effect")


@dataclasses.dataclass(frozen=True)
class Program:
    group: str  # cpp, far or samples
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


def all_programs():
    files = [(group, file) for group, folder in FOLDERS.items() for file in sorted(folder.glob("*.c*"))]
    files += [("samples", ROOT / "samples" / name / f"{name}.cc") for name in SAMPLES]
    return {file.stem: read(group, file) for group, file in files}


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
