"""docs/evaluation/rebuilds.json and docs/measurements/rebuilds.md, from the results of tests/rebuilds.

The JSON has the rows of the last measurement, and under "before" the totals of the one that they are compared with.
"""

import collections
import json
import re
import statistics

import builds
import verdicts

JSON, PAGE = "docs/evaluation/rebuilds.json", "docs/measurements/rebuilds.md"
GROUPS = {"cpp": "small programs, a feature of C++ each", "far": "programs whose bug is far from the failure",
          "samples": "samples", "real": "programs that nobody here wrote"}
MOST_FRAMES = 100  # more are of a stack overflow, of which not every frame is tried
FEWEST = 8  # tests, for the time of a larger suite


def slim(one):
    """A rebuild's row without what its tests said in full: counts, the reasons of skips and of other failures, and lies."""
    if "said" not in one:
        return one
    kinds = collections.Counter(said["kind"] for said in one["said"].values())
    reasons = collections.Counter(f"{said['kind']}: {said['words']}" for said in one["said"].values()
                                  if said["kind"] in (verdicts.SKIPPED, verdicts.OTHER, verdicts.NONE))
    short = {"end": one["end"], "counted": one["counted"], "kinds": dict(sorted(kinds.items()))}
    if reasons:
        short["reasons"] = dict(sorted(reasons.items()))
    named = sorted(test for test, said in one["said"].items() if said["kind"] == verdicts.GREEN)
    return short | ({"green": named} if named else {})


def published(row):
    """The row as the page has it: slim, and without the folders of this machine."""
    row = {key: re.sub(r"/\S*/", "", value) if key in ("failure", "error") else value for key, value in row.items()}
    return {**row, "rebuilds": {name: slim(one) for name, one in row["rebuilds"].items()}} if "rebuilds" in row else row


def totals(rows, names):
    """{rebuild: {"programs", "counted", kinds…}} over rows; a program counts once for each way in which it crashed."""
    table = {}
    for name in names:
        found = [row["rebuilds"][name] for row in rows if name in row.get("rebuilds", {})]
        kinds = collections.Counter()
        for one in found:
            kinds.update(one.get("kinds", {}))
        table[name] = {"builds": len(found), "counted": sum(one["counted"] for one in found), **kinds}
    return table


def added(table):
    total = collections.Counter()
    for row in table.values():
        total.update(row)
    return total


def summary(rows):
    """What is compared with an earlier measurement, by group."""
    groups = {}
    for group in GROUPS:
        of_group = [row for row in rows if row["group"] == group and "error" not in row]
        if not of_group:
            continue
        sizes = [row["bytes"] for row in of_group if row["bytes"]]
        seconds = [row["seconds"] for row in of_group if row["tests"]]
        framed = [row for row in of_group if row["own"] <= MOST_FRAMES]
        groups[group] = {
            "programs": len({row["program"] for row in of_group}), "suites": len(of_group),
            "own": sum(row["own"] for row in framed), "own_tested": sum(row["own_tested"] for row in framed),
            "tests": sum(row["tests"] for row in of_group), "disabled": sum(row["disabled"] for row in of_group),
            "none_enabled": sum(row["disabled"] > 0 and row["tests"] == 0 for row in of_group),
            "median_bytes": int(statistics.median(sizes)) if sizes else None,
            "median_seconds": statistics.median(seconds) if seconds else None,
            "bug": totals(of_group, builds.REBUILDS), "twins": totals(of_group, builds.TWINS),
            "fixed": totals(of_group, builds.FIXES)}
    return groups


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"


def count(row, *kinds):
    return sum(row.get(kind, 0) for kind in kinds)


def asked(row):
    return count(row, *verdicts.KINDS)


def beside_twins(one):
    """The rows of a group, those with a twin in the place of those without."""
    twins = one.get("twins") or {}
    return {name if name + builds.TWIN not in twins else name + builds.TWIN: twins.get(name + builds.TWIN, row)
            for name, row in one["bug"].items()}


def bug_table(one):
    table = one["bug"]
    rows = [*table.items(), ("**all**", added(table))]
    if one.get("twins"):
        rows += [*one["twins"].items(), ("**all, with these rows in place of those without a twin**", added(beside_twins(one)))]
    lines = ["| rebuild, the bug still in it | builds | fail still | tests | red as recorded | red otherwise | skipped | "
             "no verdict | **green: a lie** |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in rows:
        if not row["builds"]:
            continue
        lines.append(f"| {name} | {row['builds']} | {row['counted']} | {asked(row)} | "
                     f"{share(count(row, verdicts.RED), asked(row))} | {count(row, verdicts.OTHER)} | {count(row, verdicts.SKIPPED)} | {count(row, verdicts.NONE)} | **{count(row, verdicts.GREEN)}** |")
    return lines


def fixed_table(table):
    lines = ["| the bug gone | builds | end well | enabled tests | green | red as recorded | red otherwise | skipped |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in [item for item in table.items() if item[1]["builds"]]:
        lines.append(f"| {name} | {row['builds']} | {row['counted']} | {asked(row)} | "
                     f"{share(count(row, verdicts.GREEN), asked(row))} | {count(row, verdicts.RED)} | "
                     f"{count(row, verdicts.OTHER, verdicts.NONE)} | {count(row, verdicts.SKIPPED)} |")
    return lines


def compared(now, before):
    """One table of the reach: before and now."""
    def figures(groups, group):
        if group not in groups:
            return ["-"] * 10
        one = groups[group]
        bug, twins = added(one["bug"]), added(beside_twins(one))
        changed, fixed = (one["fixed"][name] for name in ("fixed, a member added", "fixed"))
        return [f"{one['programs']}, {one['suites']}", share(one["own_tested"], one["own"]),
                f"{one['tests']}, {one['disabled']} disabled",
                str(one.get("none_enabled", 0)), share(count(bug, verdicts.GREEN), asked(bug)),
                share(count(bug, verdicts.RED), asked(bug)),
                share(count(twins, verdicts.RED), asked(twins)) if one.get("twins") else "-", share(count(fixed, verdicts.GREEN), asked(fixed)),
                share(count(changed, verdicts.GREEN), asked(changed)), f"{(one['median_bytes'] or 0) / 1024:.0f} KiB"]

    names = ("programs, suites of tests", "own source frames with a test, stack overflows aside", "tests",
             "suites with disabled tests alone", "green though the bug is there",
             "red for the recorded reason", "the same, with a twin beside the optimised builds", "green when fixed", "green when fixed, with another layout", "kept report, median")
    lines = []
    for group in GROUPS:
        if group in now or group in before:
            columns = zip(names, figures(before, group), figures(now, group))
            lines += [f"| {GROUPS[group]} | before | now |", "| --- | --- | --- |",
                      *[f"| {name} | {old} | {new} |" for name, old, new in columns], ""]
    return lines


def left_out(rows):
    """Rebuilds that are not counted, by name and how they end."""
    found = collections.defaultdict(list)
    for row in rows:
        for name, one in row.get("rebuilds", {}).items():
            if not one["counted"]:
                found[name, one["end"]].append(row["program"])
    lines = ["| rebuild | ends by | programs |", "| --- | --- | --- |"]
    return lines + [f"| {name} | {end} | {', '.join(sorted(set(names)))} |" for (name, end), names in sorted(found.items())]


def without_names(reason):
    reason = re.sub(r"^([\w ]+: )frame \d+ \(.*?\) (?=cannot)", r"\1", reason)
    reason = re.sub(r": [^:]*(?:::[^:]*)* is not in this build", ": it is not in this build", reason)
    return re.sub(r"\d+", "N", reason).replace("|", "\\|")


def reasons(rows):
    found = collections.Counter()
    for row in rows:
        for name, one in row.get("rebuilds", {}).items():
            if name in builds.WITH_BUG:
                for reason, times in one.get("reasons", {}).items():
                    found[without_names(reason)] += times
    lines = ["| why a test was not red as recorded | tests |", "| --- | --- |"]
    return lines + [f"| {reason} | {times} |" for reason, times in found.most_common(40)]


def green(rows):
    lines = [f"- {row['program']} ({row['origin']}), {name}: {', '.join(one['green'])}" for row in rows
             for name, one in row.get("rebuilds", {}).items() if name in builds.WITH_BUG and "green" in one]
    return lines or ["None."]


def by_program(rows):
    lines = ["| program | crashed as | fails by | tests | lies | green when fixed |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        if row["group"] in ("far", "real") and "error" not in row:
            bug, fixed = (added(totals([row], names)) for names in (builds.REBUILDS, ("fixed",)))
            lines.append(f"| {row['program']} | {row['origin']} | {row['failure']} | {row['tests']} | "
                         f"{count(bug, verdicts.GREEN)} of {asked(bug)} | {count(fixed, verdicts.GREEN)} of {asked(fixed)} |")
    return lines


def document(rows, before):
    now = summary(rows)
    slow = [row["seconds"] for row in rows if row.get("tests", 0) >= FEWEST]
    text = ["# Tests against other builds", "",
            "Written by `./dev evaluate --rebuilds --tables`; do not edit it. `./dev evaluate --rebuilds` measures anew; a program that is left out keeps its rows. "
            "`tests/rebuilds/README.md` says how.", "",
            f"Each program crashed in builds by `recrash-clang++`: {' and '.join(builds.ORIGINS)}. The tests made of them ran against "
            "other builds. *Before* is what recrash did before a test had three verdicts. *A twin* is the same sources built without "
            "inlining: tests of functions that a build has inlined run in it (`recrash_twin`). Its rows are no part of *all*.", "",
            *compared(now, before)]
    if slow:
        text += [f"From a report to verified, built tests: {statistics.median(slow):.1f} s in the median of the {len(slow)} suites of "
                 f"{FEWEST} and more tests (`recrash reproduce`, two jobs at a time on two cores).", ""]
    for group in [group for group in GROUPS if group in now or group in before]:
        text += [f"## {GROUPS[group][0].upper() + GROUPS[group][1:]}", ""]
        if group in now:
            text += [*bug_table(now[group]), "", *fixed_table(now[group]["fixed"]), ""]
        if group in before:
            text += ["Before:", "", *bug_table(before[group]), "", *fixed_table(before[group]["fixed"]), ""]
    text += ["## Bugs far from the failure and real programs, one by one", "", *by_program(rows), "", "## Tests that lie", "", *green(rows), "",
             "## Why not as recorded", "", *reasons(rows), "", "## Not counted", "",
             "These builds end otherwise than the table needs when they are run on the input of the crash.", "", *left_out(rows), ""]
    return "\n".join(text)


def totals_line(rows):
    rows = [published(row) for row in rows if "error" not in row]
    bug, fixed = (added(totals(rows, names)) for names in (builds.REBUILDS, builds.FIXES))
    return (f"{asked(bug)} verdicts of tests on builds that fail still: {count(bug, verdicts.RED)} red as recorded, "
            f"{count(bug, verdicts.OTHER)} red otherwise, {count(bug, verdicts.SKIPPED)} skipped, {count(bug, verdicts.NONE)} without "
            f"verdict, {count(bug, verdicts.GREEN)} lies; "
            f"on fixed builds: {count(fixed, verdicts.GREEN)} of {asked(fixed)} green")


def write(root, measured, as_before):
    """`as_before`: what was measured is only compared with; no row of it stays."""
    file = root / JSON
    kept = json.loads(file.read_text()) if file.exists() else {"before": {}, "rows": []}
    found = {} if as_before else {(row["program"], row["origin"]): row for row in [*kept["rows"], *map(published, measured)]}
    rows = [found[key] for key in sorted(found)]
    before = summary(list(map(published, measured))) if as_before else kept["before"]
    # A message may have the path of the build.
    lines = re.sub(r"/[^ \"]*/sources/", "", ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    file.write_text(f'{{"before": {json.dumps(before)},\n"rows": [\n{lines}\n]}}\n')
    (root / PAGE).write_text(document(rows, before))
    return 0
