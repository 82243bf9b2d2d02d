"""The text around the tables of docs/evaluation.md."""

import json

import suites
import tables
from product import MODES

PAGE = """# Evaluation

Crashes of programs that nobody here wrote, each made into tests. This page and its plot are written by
`./dev evaluate --tables` from `evaluation/results.json` and, where there are newer ones, the results of

```
./dev evaluate                # all programs, all modes; resumable, builds are kept
./dev evaluate --quick        # three programs, one mode: what CI runs
```

A program is built from Debian's source by its own build system with `recrash-clang++ -O2 -g`: in `references` (the arguments
of each function), in `full` (also the fields that it uses), and `plain`: no instrumentation at all, crashed under `recrash run`,
so that all arguments come from DWARF. `second-chance` is the second crash of a build in `references+second-chance`, with the
first crash's own profile; `adaptive` its first, with no profile (`explanations/entry-states.md`).

The inputs are our own, written down in `tests/real/corpus`: {cases} cases of {programs} programs have results here. What was not run
is at the end of the page. Frames that are inlined, of a system library, or of code without records and debug information are
not candidates; of a stack overflow 200 frames are tried, half from each end, and overflows are counted apart; where an overflow
ends, and with it how many of its frames still find what they consumed, is chance: the stack starts elsewhere in each run. A
frame counts as reproduced when it died of the same failure at the same place in every run. Two cores that other work shared:
times are as they came.

## In all

{summary}

![frames by program and mode](evaluation.svg)

## By program

Frames that reproduced, of those tried; overflows aside where not said otherwise.

{by_program}

## Exact entry state

Reports with the memory of entries (`explanations/entry-states.md`). "After work": the program had other inputs before the one that it fails on
(`./dev evaluate --work-first --mode second-chance --mode adaptive`); what did not reproduce there are outer frames, of which a replay does the
work again and did not always end within 10 s.

{recorder}

Frames of `second-chance` that did not reproduce:

{second_left}

Of `adaptive`:

{adaptive_left}

## What did not reproduce, and why

{classes}

- *argument unknown*: the compiler kept no place for it, and no record has it.
- *same failure elsewhere*: it died in the same way at another place.
- *returned*, *exited*: the state had moved on since the frame's entry (a list consumed, a flag set), so nothing failed.
- *other failure*: the moved state made it fail in another way, before or instead.

Those of `references` that did not reproduce where the program was run again either:

{frames_left}

## Case by case

Frames are those of the program itself; a column of a mode has reproduced/tried.

{by_case}

## Where the source does not crash as the shipped binary does

{not_crashing}

## Not run

Whole programs, and single inputs of the others, that have no result in a mode:

{not_run}

The results above come from {builds} builds of recrash, made while it was being mended; programs may carry the agent of an earlier one.
{suites}{fixes}"""

SUITES = """
## The instrumentation does no harm

Other people's test suites, built plain and in `full` at -O2, their results compared test by test
(`tests/real/suites.py`):

{table}
"""

FIXES = """
## After the fix

For each crash the program's fix (or one of ours, `tests/real/fixes`) was applied, the program built again, and the tests that were
generated *before* were run against it (`tests/real/fixes.py`). They come from the report alone; where that gave only tests which
say that a fix of the caller cannot help them, from `--rerun`:

{table}
"""


def optional(file, text, make):
    return text.format(table=make(json.loads(file.read_text()))) if file.exists() else ""


def fixes_table(fixes):
    fixes = [fix for fix in fixes if "error" not in fix]
    lines = [tables.header("program", "input", "fix", "from", "tests", "pass", "labelled impossible", "of the others pass",
                           "what stays red")]
    for fix in fixes:
        lines.append(tables.row(fix["program"], tables.escape(fix["input"]), tables.escape(fix["what"]), fix["origin"], f"{fix['tests']}{' (`--rerun`)' if fix.get('rerun') else ''}",
                                fix["passed"], fix["impossible"], of_others(fix), tables.escape(fix["left"])))
    total = {key: sum(fix[key] for fix in fixes) for key in ("tests", "passed", "impossible", "passed_possible")}
    lines.append(tables.row("in all", f"{len(fixes)} crashes", "", "", total["tests"], total["passed"], total["impossible"],
                            of_others(total), ""))
    return "\n".join(lines)


def of_others(counted):
    """Of the tests that do not say that they cannot pass, those that do."""
    return tables.percent(counted["passed_possible"], counted["tests"] - counted["impossible"])


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
        frames_left=tables.frames_left(found, "references"), recorder=tables.recorder(found),
        second_left=tables.frames_left(found, "second-chance"), adaptive_left=tables.frames_left(found, "adaptive"), by_case=tables.by_case(found),
        not_crashing=tables.not_crashing(found), not_run=not_run(found, cases),
        builds=len({result["product"] for result in results}),
        suites=optional(docs / "evaluation/suites.json", SUITES, suites.table),
        fixes=optional(docs / "evaluation/fixes.json", FIXES, fixes_table)))
