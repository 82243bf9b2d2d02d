#!/usr/bin/env python3
"""The plan of the rooms: which folder may include which, how many files it has, how fixtures are named."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

SAFE = "shadowstack agent/base/signal_safe "
BASE = SAFE + "agent/base "
SYMBOLS = "testgen/symbols/"

# Each room and the rooms that its code may include, itself aside. A row names only rooms of rows above it, so that the table has no
# cycle. Tests and fixtures may include every room above their row, and the room that theirs lies in.
ROOMS = {
    "shadowstack": "",
    "shadowstack/pass/selection": "shadowstack",
    "shadowstack/pass": "shadowstack shadowstack/pass/selection",
    "include/recrash": "",
    "agent/base/signal_safe": "shadowstack",
    "agent/base": SAFE,
    "agent/elf": BASE,
    "agent/bundle": BASE,
    # A report can be read out of a bundle as it is.
    "agent/report": BASE + "include/recrash agent/elf agent/bundle",
    # What the collector and the command have in common: which reports are of one crash, and which go.
    "agent/store": BASE + "agent/elf agent/report",
    "agent/process": BASE + "agent/elf agent/report",
    # Inside the dying process: signal-safe code alone.
    "agent/client/watch": SAFE,
    "agent/client/record": SAFE + "agent/client/watch",
    "agent/client/address_space": SAFE,
    # Of include/recrash, what the program is told of a failure.
    "agent/client": SAFE + "include/recrash agent/client/watch agent/client/record agent/client/address_space",
    # What the recorder left, read out of a process or a report. Its header is agent/report/entry_log.h: a raw report has a log.
    "agent/report/entry_log": BASE + "agent/report",
    "agent/collector": BASE + "agent/elf agent/report agent/store agent/process",
    "testgen/symbols/files": BASE + "agent/elf agent/report",
    "testgen/symbols/dwarf": BASE + "agent/report testgen/symbols/files",
    "testgen/symbols/stack": BASE + "agent/report testgen/symbols/files testgen/symbols/dwarf",
    # Of agent/client/watch, the lengths of instructions.
    "testgen/symbols/values": BASE + "agent/client/watch agent/report testgen/symbols/files testgen/symbols/dwarf "
                                     "testgen/symbols/stack",
    "testgen/symbols/text": BASE + "agent/report testgen/symbols/files testgen/symbols/dwarf testgen/symbols/values",
    "testgen/symbols/layout": BASE + "agent/elf agent/report testgen/symbols/files testgen/symbols/dwarf",
    "testgen/symbols": BASE + "agent/client/watch agent/elf agent/report testgen/symbols/files testgen/symbols/dwarf "
                              "testgen/symbols/stack testgen/symbols/values testgen/symbols/text testgen/symbols/layout",
    "testgen/carry": BASE + "agent/report",
    "testgen/literals": BASE + "include/recrash agent/report testgen/carry",
    "testgen/replay/plan": BASE + "include/recrash agent/elf agent/report testgen/literals",
    # Inside the test process.
    "testgen/replay/sandbox": SAFE,
    "testgen/replay/heap": SAFE,
    "testgen/replay/checks": SAFE + "testgen/replay/heap",
    "testgen/replay/place": SAFE + "include/recrash testgen/replay/heap testgen/replay/plan",
    "testgen/replay/given": SAFE + "include/recrash testgen/replay/plan",
    "testgen/replay/guest": SAFE + "testgen/replay/given include/recrash testgen/replay/checks testgen/replay/heap testgen/replay/place testgen/replay/plan "
                                   "testgen/replay/sandbox",
    "testgen/replay/host": BASE + "include/recrash agent/elf agent/report testgen/symbols testgen/symbols/dwarf "
                                 "testgen/symbols/stack testgen/symbols/layout testgen/replay/plan testgen/replay/sandbox "
                                 "testgen/carry testgen/literals",
    "testgen/verify": BASE + "include/recrash agent/elf agent/report testgen/replay/plan testgen/replay/host",
    "testgen/minimise": BASE + "include/recrash agent/elf agent/report testgen/carry testgen/literals testgen/replay/plan "
                               "testgen/replay/host testgen/verify",
    # Whole replays: tests alone, which need verification to make one.
    "testgen/replay/guest/test": "testgen/verify",
    "testgen/rerun": BASE + "agent/elf agent/report agent/process testgen/symbols",
    "testgen/derive": BASE + "include/recrash agent/elf agent/report agent/process testgen/replay/plan testgen/replay/host "
                             "testgen/verify testgen/rerun",
    "testgen/flips": BASE + "include/recrash agent/client/watch agent/process agent/report testgen/symbols testgen/symbols/files "
                            "testgen/symbols/dwarf testgen/symbols/stack testgen/symbols/values testgen/replay/plan "
                            "testgen/replay/host testgen/verify testgen/rerun testgen/derive",
    "testgen/discern": BASE + "include/recrash agent/report testgen/replay/plan testgen/replay/host testgen/verify",
    "testgen/explain": BASE + "include/recrash agent/elf agent/process agent/report testgen/symbols testgen/symbols/dwarf testgen/symbols/files "
                              "testgen/symbols/stack testgen/symbols/values testgen/verify testgen/derive",
    "testgen/emit": BASE + "include/recrash agent/report testgen/symbols testgen/symbols/dwarf testgen/literals",
    # Of testgen/symbols/dwarf, the names of functions as people read them.
    "testgen/suite": BASE + "include/recrash agent/elf agent/process agent/report agent/store testgen/symbols testgen/symbols/dwarf testgen/replay/plan "
                            "testgen/replay/host testgen/verify testgen/rerun testgen/derive testgen/flips testgen/discern "
                            "testgen/emit testgen/literals",
    "integrations/upload": BASE,
    "integrations/terminal": BASE,
    "testgen/bug_report": BASE + "agent/elf agent/report testgen/symbols testgen/emit testgen/suite",
    "integrations/pages": BASE + "testgen/explain",
    "integrations/cli": BASE + "integrations/upload integrations/terminal integrations/pages include/recrash agent/bundle agent/process agent/report agent/store testgen/symbols testgen/symbols/dwarf testgen/minimise testgen/emit testgen/explain testgen/suite testgen/bug_report",
    "integrations/compiler": BASE + "agent/elf",
}

MOST_FILES = 32
MOST_LINES = 60
FLAT_TABLES = {"OneByteShape", "ExpressionMachine::Step"}

SOURCES = {".h", ".cc", ".c"}
NOT_COUNTED = {"README.md", "CMakeLists.txt"}
TEST_FOLDERS = {"test", "testdata"}


def is_test(file):
    return "_test." in file.name or file.name.startswith("testing_") or TEST_FOLDERS & set(file.parts)


def room_of(file):
    """The innermost room that the file lies in; a folder of tests belongs to the room around it."""
    return next((str(folder) for folder in file.parents if str(folder) in ROOMS), None)


def files():
    for top in ("shadowstack", "include", "agent", "testgen", "integrations"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                yield file.relative_to(ROOT)


def text_of(file):
    return (ROOT / file).read_text(errors="replace")


FILES = list(files())
CODE = [file for file in FILES if file.suffix in SOURCES]


def includes():
    """(file, included file) for each include of a file of ours: by its path from the root, from include/, or beside."""
    known = set(FILES)
    for file in CODE:
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(file), re.MULTILINE):
            for base in (pathlib.Path(), pathlib.Path("include"), file.parent):
                if base / name in known:
                    yield file, base / name
                    break


def allowed(file, included):
    room, other = room_of(file), room_of(included)
    if room == other or other in ROOMS[room].split():
        return True
    order = list(ROOMS)
    return is_test(file) and (order.index(other) < order.index(room) or other == str(pathlib.Path(room).parent))


def functions(file):
    """(name, lines) of each function outside a class: from its signature to the brace in the first column."""
    for found in re.finditer(r"^\w[^;{}\n]* [^;{}\n]*\([^;{}]*\{\n.*?^\}$", text_of(file), re.MULTILINE | re.DOTALL):
        yield re.search(r"([\w~:]+)\(", found[0])[1], found[0].count("\n") + 1


class Rooms(unittest.TestCase):
    maxDiff = None

    def test_a_row_names_only_rooms_above_it(self):
        above = set()
        for room, others in ROOMS.items():
            self.assertLessEqual(set(others.split()), above, room)
            above.add(room)

    def test_each_file_is_in_a_room(self):
        self.assertEqual([str(file) for file in CODE if room_of(file) is None], [])

    def test_each_include_is_in_the_table(self):
        self.assertEqual([f"{file} -> {included}" for file, included in includes() if not allowed(file, included)], [])

    def test_code_includes_no_fixture(self):
        self.assertEqual([f"{file} -> {included}" for file, included in includes()
                          if is_test(included) and not is_test(file)], [])

    def test_a_header_for_tests_alone_is_named_testing(self):
        users = {}
        for file, included in includes():
            if file.with_suffix("") != included.with_suffix(""):
                users.setdefault(included, set()).add(bool(is_test(file)))
        self.assertEqual([str(file) for file in users if users[file] == {True} and not is_test(file)
                          and room_of(file) != "include/recrash"], [])

    def test_code_for_tests_alone_is_named_testing(self):
        built = set()
        for file in FILES:
            if file.name == "CMakeLists.txt":
                without_tests = re.sub(r"recrash_test\([^)]*\)", "", text_of(file))
                built |= {pathlib.Path(name).name for name in re.findall(r"[\w./]+\.cc?\b", without_tests)}
        self.assertEqual([str(file) for file in CODE
                          if file.suffix != ".h" and not is_test(file) and file.name not in built], [])

    def test_a_room_has_few_files(self):
        count = {room: 0 for room in ROOMS}
        for file in FILES:
            if room_of(file) and not is_test(file) and file.name not in NOT_COUNTED:
                count[room_of(file)] += 1
        self.assertEqual({room: n for room, n in count.items() if n > MOST_FILES}, {})

    def test_each_folder_has_a_readme(self):
        folders = {folder for file in FILES if not TEST_FOLDERS & set(file.parts) for folder in list(file.parents)[:-1]}
        missing = {str(folder) for folder in folders if not (ROOT / folder / "README.md").exists()}
        self.assertEqual(sorted(missing), [])

    def test_a_function_is_short(self):
        self.assertEqual([f"{file}: {name}, {lines} lines" for file in CODE if not is_test(file)
                          for name, lines in functions(file)
                          if lines > MOST_LINES and name not in FLAT_TABLES], [])


if __name__ == "__main__":
    unittest.main()
