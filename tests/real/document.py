"""The text around the tables of docs/evaluation.md."""

import json

import suites
import tables
from product import MODES

PAGE = """# Evaluation

Programs that nobody here wrote are crashed, and recrash makes tests of each crash. `./dev evaluate --tables` writes this page and its
plot. The figures come from `evaluation/results.json`, or from newer results of these commands:

```
./dev evaluate --list         # the cases: program, input, command
./dev evaluate                # all programs, all modes; resumable, builds are kept
./dev evaluate --quick        # three programs, one mode: what CI runs
```

The inputs are our own and are in `tests/real/corpus`. {cases} cases of {programs} programs have results here. What was not run is listed
at the end.

Each program is built from Debian's source by its own build system, with `recrash-clang++ -O2 -g`:

- `references`: records keep the arguments of each function.
- `full`: records also keep the fields that the function uses.
- `plain`: no instrumentation. The program crashes under `recrash run`, and all arguments come from DWARF.
- `second-chance`: the second crash of a build in `references+second-chance`, with the profile of the first crash.
- `adaptive`: the first crash of the same build, with no profile (`explanations/entry-states.md`).

How frames are counted:

- A frame is reproduced if it died of the same failure at the same place in every run.
- Three kinds of frames are no candidates: inlined ones, those of system libraries, and those without record and debug information.
- Of a stack overflow 200 frames are tried, half from each end. Overflows are counted apart. The stack starts at another address in
  each run, so it is chance where an overflow ends, and how many of its frames still find what they consumed.

The machine had two cores and other work: times are as they came.

## In all

{summary}

![frames by program and mode](evaluation.svg)

## By program

Reproduced frames of those that were tried. Overflows are left out where the column does not say otherwise.

{by_program}

## Exact entry state

These reports hold entry states (`explanations/entry-states.md`).{after_work}

{recorder}

Frames of `second-chance` that did not reproduce:

{second_left}

Of `adaptive`:

{adaptive_left}

## What did not reproduce, and why

{classes}

- *argument unknown*: the compiler kept no place for the argument, and no record has it.
- *same failure elsewhere*: the replay died of the same failure at another place.
- *returned*, *exited*: the state had moved on since the frame's entry (a list consumed, a flag set), so nothing failed.
- *other failure*: because of the moved state, another failure came before the recorded one.

Frames of `references` that did not reproduce with `--rerun` either:

{frames_left}

## Case by case

Frames are those of the program itself. The column of a mode has reproduced/tried.

{by_case}

## Where the source does not crash as the shipped binary does

{not_crashing}

## Not run

Whole programs, and single inputs of the others, that have no result in a mode:

{not_run}

The results come from {builds} builds of recrash, made while it was being mended.
{suites}{fixes}"""

AFTER_WORK = """ "After work" means that the program had other inputs first
(`./dev evaluate --work-first --mode second-chance --mode adaptive`). The frames that did not reproduce there are outer ones: a replay of
them does that work again, and not every replay ended within 10 s."""

SUITES = """
## The instrumentation does no harm

Other people's test suites were built plain and in `full` at -O2, and their results were compared test by test
(`tests/real/suites.py`):

{table}
"""

FIXES = """
## After the fix

For each crash the tests were generated first. Then the program's own fix was applied, or one of ours (`tests/real/fixes`), the program
was built again, and the same tests ran against it (`tests/real/fixes.py`). The tests come from the report alone. Where all of these
are disabled from the start, they come from `--rerun`. A skipped test is not green. A row without disabled tests is from before any
test was disabled:

{table}
"""


def optional(file, text, make):
    return text.format(table=make(json.loads(file.read_text()))) if file.exists() else ""


def fixes_table(fixes):
    fixes = [fix for fix in fixes if "error" not in fix]
    lines = [tables.header("program", "input", "fix", "from", "enabled tests that turn green", "disabled ones that do", "what stays red")]
    for fix in fixes:
        again = " (`--rerun`)" if fix.get("rerun") else ""
        lines.append(tables.row(fix["program"], tables.escape(fix["input"]), tables.escape(fix["what"]), fix["origin"],
                                tables.percent(fix["green"], fix["enabled"]) + again, f"{fix['disabled_green']} of {fix['disabled']}",
                                tables.escape(fix["left"])))
    total = {key: sum(fix[key] for fix in fixes) for key in ("enabled", "green", "disabled", "disabled_green")}
    lines.append(tables.row("in all", f"{len(fixes)} crashes", "", "", tables.percent(total["green"], total["enabled"]),
                            f"{total['disabled_green']} of {total['disabled']}", ""))
    return "\n".join(lines)


def not_run(found, cases):
    """What has no result, by mode: whole programs, and single cases of the others."""
    lines = []
    for mode in MODES:
        run = {(result["program"], result["input"]) for result in found.all if result["mode"] == mode}
        programs = {program for program, _ in run}
        missing = [program if program not in programs else f"{program} {tables.escape(name)}"
                   for program, name in cases if (program, name) not in run]
        lines.append(f"- `{mode}`: {', '.join(dict.fromkeys(missing)) or 'none'}")
    return "\n".join(lines)


def write(docs, results, cases):
    """The page and its plot. `cases` are all that there are, as pairs of program and input."""
    found = tables.Results(results)
    (docs / "evaluation.svg").write_text(tables.plot(found))
    (docs / "evaluation.md").write_text(PAGE.format(
        cases=len({(r["program"], r["input"]) for r in found.all}), programs=len(found.programs()),
        summary=tables.summary(found), by_program=tables.by_program(found), classes=tables.classes(found),
        frames_left=tables.frames_left(found, "references"), recorder=tables.recorder(found), after_work=AFTER_WORK if found.after_work else "",
        second_left=tables.frames_left(found, "second-chance"), adaptive_left=tables.frames_left(found, "adaptive"), by_case=tables.by_case(found),
        not_crashing=tables.not_crashing(found), not_run=not_run(found, cases),
        builds=len({result["product"] for result in results}),
        suites=optional(docs / "evaluation/suites.json", SUITES, suites.table),
        fixes=optional(docs / "evaluation/fixes.json", FIXES, fixes_table)))
