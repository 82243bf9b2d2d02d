"""The crashes to reproduce: corpus/corpus.tsv, a table of tab-separated columns."""

import csv
import dataclasses
import pathlib
import shlex

from corpus import make_inputs

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus/corpus.tsv"
AFTER_WORK = " after work"


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    input: pathlib.Path  # the file
    command: str         # with {input} for it
    signal: str          # what the shipped binary dies of
    kind: str            # "null pointer", "stack overflow", ...
    work: str = ""       # arguments that let it work for some seconds before it comes to the input

    @property
    def name(self):
        return self.input.name

    @property
    def title(self):
        return self.name + (AFTER_WORK if self.work else "")

    @property
    def overflow(self):
        return self.kind == "stack overflow"

    def arguments(self):
        """The command line after the program's name, the input by its name in the current folder."""
        return shlex.split(self.work) + [word.replace("{input}", self.name) for word in shlex.split(self.command)[1:]]


def read(inputs):
    """The cases of the corpus. Their inputs are written into the folder `inputs`, where `input` of the table is a path."""
    make_inputs.write(inputs)
    with CORPUS.open(newline="") as file:
        return [Case(row["program"], inputs / row["input"], row["command"], row["signal"], row["class"])
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def without_others(results, known):
    """The results of the cases that are known: what was measured on an input that nobody has is not published."""
    names = {(case.program, case.name) for case in known}
    return [result for result in results if (result["program"], result["input"].removesuffix(AFTER_WORK)) in names]
