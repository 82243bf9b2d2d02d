"""What each test of a suite came to, read from the suite's own output: a dictionary from the test's name to its outcome.

The names are those that the runner prints; a name that is printed twice is numbered, so that no test is lost. A test that
began and was not seen to end is "cut off": its process died under it.
"""

import re


def numbered(name, results):
    """`name`, or `name (2)` if a test of that name was there before."""
    unique, count = name, 1
    while unique in results:
        count += 1
        unique = f"{name} ({count})"
    return unique


def by_program(text):
    """ctest -V starts each line with the number of its program: (name of the program, its lines)."""
    names = dict(re.findall(r"^ +Start +(\d+): (\S+)", text, re.M))
    lines = {}
    for line in text.splitlines():
        number = re.match(r"(\d+): (.*)", line)
        if number:
            lines.setdefault(names.get(number[1], number[1]), []).append(number[2])
    return lines.items() if names else [("", text.splitlines())]


def ctest(text):
    """Each program that ctest ran: `3/16 Test  #3: name .....***Failed  0.01 sec`."""
    return {name: outcome.strip(" .*") for name, outcome in
            re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) (.*?) +[\d.]+ sec", text, re.M)}


def gtest(text):
    results = {}
    for program, lines in by_program(text):
        running = None
        for line in lines:
            begun = re.match(r"\[ RUN      \] (\S+)", line)
            # The outcome may stand at the end of what the test itself printed without a line's end.
            ended = re.search(r"\[ +(OK|FAILED|SKIPPED) +\] ([\w./]+?)(?:, where .*)? \(\d+ ms\)$", line)
            if begun:
                running = numbered(f"{program} {begun[1]}".strip(), results)
                results[running] = "cut off"
            elif ended and running and running.split(" (")[0].endswith(ended[2]):
                results[running] = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[ended[1]]
                running = None
    return results


def tagged(text):
    """tinyxml2: `[pass] what [expected][found]`."""
    results = {}
    for outcome, name in re.findall(r"^\[(pass|fail)\] ([^\[\n]*)", text, re.M):
        results[numbered(name.strip(), results)] = {"pass": "passed", "fail": "failed"}[outcome]
    return results


def pugixml(text):
    """It names only the tests that fail; of the others their number."""
    results = {f"Test {name}": "failed" for name in re.findall(r"^Test (.*?) failed", text, re.M)}
    total = re.search(r"^(?:Success: |FAILURE: \d+ out of )(\d+) tests", text, re.M)
    results |= {f"{int(total[1]) - len(results)} tests": "passed"} if total else {"the run": "cut off"}
    return results


def jsoncpp(text):
    return {name: {"OK": "passed", "FAILED": "failed"}.get(outcome, "cut off") for name, outcome in
            re.findall(r"^(?:\d+: )?Testing (\S+): (OK|FAILED)?", text, re.M)}


def re2(text):
    """The programs print a test's name when it begins, and PASS after the last; a failure aborts."""
    results = {}
    for program, lines in by_program(text):
        names = [line for line in lines if re.fullmatch(r"\w+\.\w+", line)]
        results |= {f"{program} {name}": "passed" for name in names}
        if names and "PASS" not in lines:
            results[f"{program} {names[-1]}"] = "cut off"
    return results


def cppunit(text):
    """`TestClass::test : OK`, or for what failed `: assertion`, `: error`."""
    results = {}
    for name, outcome in re.findall(r"^(\w+::\w+)(?: : (OK|assertion|error))?", text, re.M):
        results[name] = {"OK": "passed", "": "cut off"}.get(outcome, "failed")
    return results


def cppcheck(text):
    """`TestClass::test` when one begins; those that failed are named at the end: `file.cpp:1(TestClass::test): …`."""
    results = {name: "passed" for name in re.findall(r"^(\w+::\w+)$", text, re.M)}
    for name in re.findall(r"\((\w+::\w+)\)", text):
        results[name] = "failed"
    if results and "Testing Complete" not in text:
        results[list(results)[-1]] = "cut off"
    return results


def count(results):
    """How many tests: an entry is one, but for `1234 tests` of a runner that does not name them."""
    return sum(int(number[1]) if (number := re.fullmatch(r"(\d+) tests", name)) else 1 for name in results)
