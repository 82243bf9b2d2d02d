"""The crashes to reproduce: tables of tab-separated columns, each beside the inputs that it names."""

import csv
import dataclasses
import pathlib
import shlex


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
        return f"{self.name} after work" if self.work else self.name

    @property
    def overflow(self):
        return self.kind == "stack overflow"

    def arguments(self):
        """The command line after the program's name, the input by its name in the current folder."""
        return shlex.split(self.work) + [word.replace("{input}", self.name) for word in shlex.split(self.command)[1:]]


def read(table, inputs=None):
    """The cases of one table; `input` in it is relative to the folder of inputs, by default the table's own."""
    table = pathlib.Path(table)
    inputs = inputs or table.parent
    with table.open(newline="") as file:
        return [Case(row["program"], inputs / row["input"], row["command"], row["signal"], row["class"])
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
