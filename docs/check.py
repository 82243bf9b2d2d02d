#!/usr/bin/env python3
"""Checks the documents: links lead somewhere, files that are named exist, and the README's figures are the evaluation's.

  docs/check.py            says what is wrong, and where
  docs/check.py --write    writes the evaluation's figures into the README

A file counts as named if a document has its path from the root in backticks, or if any file has a path that begins with
docs/ and ends with .md.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
USERS = ("tests/build/", "tests/crash_test")  # in the folder of tests that a user's command made
TOP = "agent|shadowstack|testgen|integrations|samples|tests|docs|include|cmake"

# The README's rows, and the evaluation's from which they come.
ROWS = {
    "crashes with at least one test": "with at least one test",
    "the same, with `--rerun`": "the same where the program is run again (`--rerun`)",
    "frames that reproduce, stack overflows aside": "frames that reproduce, overflows aside",
    "the same frames, with `--rerun`": "the same where the program is run again (`--rerun`)",
    "report, median / largest": "report, median / largest",
    "crash to report, median / longest": "of these until it is packed and written, median / longest",
}
# Columns of the evaluation in the README's order: references, full, second-chance, adaptive, plain.
COLUMNS = (0, 1, 3, 4, 2)


def tracked(*patterns):
    return subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *patterns], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()


def anchors(document):
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(name):
    document = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        if not file.exists():
            yield f"{name}: the link {target} leads to no file"
        elif anchor and anchor not in anchors(file):
            yield f"{name}: the link {target} leads to no heading"


def exists(path):
    """Also a name without what follows the dot, as in testgen/verify/choose."""
    return any(ROOT.glob(path.rstrip("/"))) or any(ROOT.glob(path + ".*"))


def missing_files(name):
    for path in re.findall(rf"`((?:{TOP})/[\w./*+-]+)`", (ROOT / name).read_text()):
        if not path.startswith(USERS) and not exists(path):
            yield f"{name}: there is no {path}"


def missing_documents(name):
    try:
        text = (ROOT / name).read_text()
    except (UnicodeDecodeError, FileNotFoundError):
        return
    for path in re.findall(r"\bdocs/[\w/-]+\.md\b", text):
        if not (ROOT / path).exists():
            yield f"{name}: there is no {path}"


def rows_of_the_evaluation():
    """README rows by their names: a row named "the same" belongs to the row above it."""
    lines = (ROOT / "docs/evaluation.md").read_text().splitlines()
    found = {}
    above = ""
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 6:
            if not cells[0].startswith("the same"):
                above = cells[0]
            found.setdefault((above, cells[0]), cells[1:])
        elif line.startswith("## By program"):
            break
    rows = []
    above = ""
    for name, source in ROWS.items():
        if not source.startswith("the same"):
            above = source
        cells = found[(above, source)]
        rows.append("| " + " | ".join([name] + [cells[column] for column in COLUMNS]) + " |")
    return rows


def tests_after_the_fix():
    line = re.search(r"^\| in all \| (\d+ crashes) \|.*\| (\d+ of \d+) \(.*$", (ROOT / "docs/evaluation.md").read_text(), re.M)
    return f"{line[2]} passed after the fix, in {line[1]} of"


def wrong_figures():
    text = README.read_text()
    return [f"README.md: the evaluation has\n  {figure}" for figure in [*rows_of_the_evaluation(), tests_after_the_fix()]
            if figure not in text]


def write_figures():
    text = README.read_text()
    for row in rows_of_the_evaluation():
        name = row[2:].partition(" | ")[0]
        text = re.sub(rf"^\| {re.escape(name)} \|.*$", lambda _, new=row: new, text, flags=re.M)
    text = re.sub(r"\d+ of \d+ passed after the fix, in \d+ crashes of", tests_after_the_fix(), text)
    README.write_text(text)


def main():
    if "--write" in sys.argv[1:]:
        write_figures()
    problems = wrong_figures()
    for name in tracked("*.md"):
        problems += [*broken_links(name), *missing_files(name)]
    for name in tracked():
        problems += missing_documents(name)
    print("\n".join(problems) or "documents: all is well")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
