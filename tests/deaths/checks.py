"""What is asked of a cell. Each check gives a sentence on what is wrong, or nothing."""

import functools
import json
import pathlib
import subprocess
import sys

import builds
import matrix
import ways

sys.path.append(str(builds.ROOT / "tests/e2e"))
from harness import become, short_name

RECRASH = builds.PREFIX / "bin/recrash"
# Where the collector can be started and may stop the threads, its report is asked for; elsewhere a raw one is good enough.
COLLECTED = ("usual", "closed_stderr", "docker", "undumpable", "undumpable_kept", "descriptors", "small_files")
# Where the program has to write it itself.
WRITTEN_ALONE = ("no_collector", "hanging_collector", "dying_collector", "no_ptrace", "no_proc", "old_docker", "flatpak", "no_exec")
# Where a collector can make a report of what is recorded in the same way; of others it is "usual".
COLLECTED_IN = {"old_docker": "docker"}
WITHOUT_MEMORY = ("undumpable",)  # its memory is in no report: neither are its callers, and nothing is replayed
# The C library maps a page for its last word. A replay has the page, so that its word is not the recorded one.
WITHOUT_WORDS = ("addresses", "data")
INDEX = ".recrash-index"  # of the report folder
SECONDS = 60


@functools.cache
def sizes(file):
    """{function of the program: its size in bytes}"""
    done = subprocess.run(["nm", "-S", "-C", file], stdout=subprocess.PIPE, text=True, check=True)
    fields = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    return {short_name(each[3]): int(each[1], 16) for each in fields if len(each) == 4 and each[3].startswith("deaths::")}


def as_without_recrash(plain, ran):
    """Exit status, signal, core, and what is on stdout and stderr."""
    if ran.end is None:
        yield "it hung"
        return
    for name in ("exit", "signal", "core"):
        if plain.end[name] != ran.end[name]:
            yield f"{name} {ran.end[name]}, without recrash {plain.end[name]}"
    if plain.said != ran.said:
        yield f"its output is {ran.said!r}, without recrash {plain.said!r}"
    if plain.own_errors() != ran.own_errors():
        yield f"stderr is {ran.own_errors()}, without recrash {plain.own_errors()}"


def nothing_left(ran):
    if ran.end is None:
        return
    if ran.end["left"]:
        yield f"{ran.end['left']} processes are left"
    names = [file.name for file in (ran.folder / "run").iterdir()]
    core = ran.end["core"] or "core 1" in ran.output
    if sorted(names) != (["core"] if "core" in names and core else []):
        yield f"files are left: {names}"
    for name in ("tmp", "reports", "profile"):
        kinds = {"reports": (".rcr", ".dmp", ".rcraw"), "profile": (".recrash-profile",)}.get(name, ())
        left = [file.name for file in (ran.folder / name).iterdir() if file.suffix not in kinds and file.name != INDEX]
        if left:
            yield f"files are left in {name}: {left}"


def is_held_back(cell):
    """Is the signal only sent, to a thread that blocks it?"""
    way = ways.WAYS[cell.way]
    return cell.context == "blocked" and way.signal and not (way.own_pc or way.pc_is_address or way.aborts)


def dies(cell, plain):
    """Without recrash, too; else the cell says nothing."""
    should = bool(ways.WAYS[cell.way].signal) and not is_held_back(cell)
    if plain.end is None or plain.place is None or plain.survived == should:
        yield f"without recrash it does not end as it should: {plain.end}, {plain.output!r}, {plain.errors!r}"


def reports_expected(cell):
    return int(ways.WAYS[cell.way].leaves_report and not is_held_back(cell))


def has_report(cell, ran):
    expected, found = reports_expected(cell), ran.reports
    if len(found) != expected:
        yield f"{len(found)} reports, expected {expected}; it said {ran.errors!r}"
    elif found and cell.surroundings in COLLECTED and found[0].suffix != ".rcr":
        yield f"the report is a raw one; it said {ran.errors!r}"
    elif found and cell.surroundings in WRITTEN_ALONE and found[0].suffix != ".rcraw":
        yield "a collector has made the report: the surroundings were not as they should be"


def expected_threads(cell):
    return 1 if cell.context in matrix.CHILDREN else 1 + cell.others + (cell.context in matrix.THREADS)


def says_what_failed(cell, ran, build, shown):
    way = ways.WAYS[cell.way]
    yield from says_how(cell, ran, shown)
    # Where entries are watched, a stack may as well end in the agent, at the entry of the function.
    pc_is_own = way.own_pc and not (cell.way == "StackOverflow" and cell.mode in matrix.WATCHED)
    yield from says_where(way, ran.place, shown, sizes(build / ("deaths.so" if cell.context == "library" else "deaths")), pc_is_own)
    if way.own_pc or cell.surroundings not in WITHOUT_MEMORY:
        yield from says_who(way, shown)


def says_how(cell, ran, shown):
    way = ways.WAYS[cell.way]
    exception = shown["exception"] and (shown["exception"]["type"], shown["exception"]["what"])
    expected = {"process": ran.place["process"], "thread": ran.place["thread"], "exception": way.exception, "reason": way.reason}
    if not way.reason:
        expected["signal"] = way.signal
    if ran.reports[0].suffix == ".rcr":
        expected["threads"] = expected_threads(cell)
    for name, value in expected.items():
        found = exception if name == "exception" else shown[name]
        if found != value:
            yield f"{name} {found!r}, expected {value!r}"
    if way.signal and shown["code"] not in way.codes:
        yield f"code {shown['code']}, expected {' or '.join(map(str, way.codes))}"
    if way.message not in shown["message"] and cell.surroundings not in WITHOUT_WORDS:
        yield f"message {shown['message']!r}, expected {way.message!r}"


def says_where(way, place, shown, size_of, pc_is_own):
    if way.signal and not place["low"] <= shown["address"] <= place["high"]:
        yield f"address {shown['address']:#x}, expected {place['low']:#x} to {place['high']:#x}"
    if pc_is_own and not place["at"] <= shown["pc"] < place["at"] + size_of[way.function]:
        yield f"pc {shown['pc']:#x} is not in {way.function} at {place['at']:#x}"
    if way.pc_is_address and shown["pc"] != shown["address"]:
        yield f"pc {shown['pc']:#x}, expected {shown['address']:#x}"


def says_who(way, shown):
    own = [short_name(frame["function"]) for frame in shown["frames"] if is_own(frame)]
    if not own or own[0] != way.function:
        yield f"the first frame of the program's own is {own[0] if own else None}, expected {way.function}"


def is_own(frame):
    return pathlib.Path(frame["file"]).parent == builds.FOLDER


def run_recrash(*words, folder, environment):
    """What it said, with its exit code."""
    try:
        done = subprocess.run([str(RECRASH), *map(str, words)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return f"recrash {words[0]} took longer than {SECONDS} s"
    return f"recrash {words[0]} ended with {done.returncode}: {done.stdout.strip()}"


def show(ran, build, environment):
    """What `recrash show --json` says of the report, or a sentence."""
    file = ran.folder / "shown.json"
    said = run_recrash("show", ran.reports[0], "--program", build / "deaths", "--search-path", build, "--json", file, folder=ran.folder,
                       environment=environment)
    return json.loads(file.read_text()) if file.exists() else said


def replayed(cell, ran, build, environment):
    """(what `recrash reproduce` said, its frames)"""
    file = ran.folder / "result.json"
    # Its stack has two thousand frames outside.
    derive = ("--derive", "none") if cell.way == "StackOverflow" else ()
    said = run_recrash("reproduce", ran.reports[0], "--program", build / "deaths", "--search-path", build, "-o", ran.folder / "tests",
                       "--no-build", "--runs", 1, "-j", 1, "--max-frames", 8, *derive, "--json", file, folder=ran.folder, environment=environment)
    return said, json.loads(file.read_text())["frames"] if file.exists() else []


def learns(ran, build, environment):
    """Puts the functions on the failing stack into the profile, as a collector does."""
    said = run_recrash("profile", "add", ran.reports[0], "-o", ran.folder / "profile/deaths.recrash-profile", "--program", build / "deaths",
                       "--search-path", build, folder=ran.folder, environment=environment)
    if "ended with 0" not in said:
        yield said


def as_collected(cell, ran, collected, build, environment):
    """Do the same frames reproduce as of a report that a collector made?"""
    if [file.suffix for file in collected.reports] != [".rcr"]:
        yield f"a collector made no report of the same: {collected.reports}, {collected.errors!r}"
        return
    verdicts = [[(short_name(frame["function"]), frame["verdict"]) for frame in replayed(cell, one, build, environment)[1] if is_own(frame)]
                for one in (ran, collected)]
    if verdicts[0] != verdicts[1]:
        yield f"{verdicts[0]}, by a collector {verdicts[1]}"


def reproduces(cell, ran, build, environment):
    """Is the verdict on the failing function's frame the expected one?"""
    way = ways.WAYS[cell.way]
    said, frames = replayed(cell, ran, build, environment)
    of_function = [frame for frame in frames if is_own(frame) and short_name(frame["function"]) == way.function]
    if cell.surroundings in WITHOUT_MEMORY:
        if any(frame["verdict"] == ways.REPRODUCED for frame in frames):
            yield "a frame reproduces, though the report is to have no memory"
        return
    if not of_function:
        yield f"no frame of {way.function}: {said}"
    elif of_function[0]["verdict"] not in way.verdicts and not (way.message and cell.surroundings in WITHOUT_WORDS):
        yield f"{way.function} {of_function[0]['verdict']} ({of_function[0]['note']}), expected {' or '.join(way.verdicts)}"
