"""docs/evaluation.md and its plot, from the results that evaluate.py left; every figure in them comes from a result."""

import collections
import re
import statistics

from product import MODES, RECORDED

# Why a frame that was tried did not reproduce, in the order of the tables. The first that fits.
DEEP = 1000  # frames
LONG = 3  # seconds of processor time
CLASSES = ("argument unknown", "same failure elsewhere", "returned", "other failure", "timed out", "exited", "unstable",
           "could not be replayed")
COLOURS = {"reproduced": "#2f7d4f", "argument unknown": "#8e6bb0", "same failure elsewhere": "#d9a441", "returned": "#b9c4cc",
           "other failure": "#c4553b", "timed out": "#5b6770", "exited": "#7fa6c9", "unstable": "#e3d34f", "could not be replayed": "#30363b"}


def tried(result):
    return [frame for frame in result.get("frames", []) if frame["verdict"]]


def reproduced(result):
    """An unstable frame counts as not reproduced: a test that only sometimes fails is no test."""
    return [frame for frame in tried(result) if frame["verdict"] == "reproduced" and frame["stable"]]


def kind_of_failure(text):
    """SIGSEGV, SIGABRT, ..., or the exception's type: what must be equal for `the same failure`."""
    words = text.split()
    return " ".join(words[:2]) if words[:1] == ["uncaught"] else (words[0].rstrip(":") if words else "")


def why_not(result, frame):
    verdict = frame["verdict"]
    if verdict == "cannot replay":
        return "argument unknown" if "argument" in frame["note"] else "could not be replayed"
    if verdict == "different failure":
        same = kind_of_failure(frame["note"]) == kind_of_failure(result["failure"])
        return "same failure elsewhere" if same else "other failure"
    return verdict


def percent(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "-"


def median(values):
    return statistics.median(values) if values else 0


def without_folders(text):
    """Folders of this machine are nobody's business."""
    return re.sub(r"(?<![\w.])/(?:[\w.+~-]+/)+", "", text)


def escape(text):
    """Names come from reports: they must not become markup."""
    text = without_folders(text)
    for character in "\\`|*_<>[]":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def short(function):
    name = function.split("(anonymous namespace)::")[-1]
    depth, out = 0, ""
    for character in name:  # drop parameters and template arguments
        if character in "<(":
            depth += 1
        if depth == 0:
            out += character
        if character in ">)":
            depth -= 1
    return out.strip().removesuffix("const").strip() or name


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def header(*names):
    return row(*names) + "\n" + row(*["---"] * len(names))


def crashes_otherwise(result):
    """By another signal than the shipped binary, or where that overflowed its stack without doing so."""
    failure = result.get("failure", "")
    signal = "SIGABRT" if failure.startswith("uncaught") else failure.split(" ")[0]
    frames = len(result.get("frames", [])) + result.get("skipped", 0)
    return not result["shipped"].startswith(signal) or (result["kind"] == "stack overflow") != (frames > DEEP)


class Results:
    """`crashed` are those that crash as the shipped binary does; the others are told apart. `after_work` are those that
    did something else for some seconds before they came to the input."""

    def __init__(self, results):
        self.after_work = [result for result in results if result.get("after_work") and result["crashed"]]
        self.all = results = [result for result in results if not result.get("after_work")]
        self.otherwise = [result for result in results if result["crashed"] and crashes_otherwise(result)]
        self.crashed = [result for result in results if result["crashed"] and not crashes_otherwise(result)]

    def of(self, mode, overflow=None, program=None):
        return [r for r in self.crashed if r["mode"] == mode and program in (None, r["program"])
                and overflow in (None, r["kind"] == "stack overflow")]

    def programs(self):
        return list(dict.fromkeys(r["program"] for r in self.crashed))


def frames_cell(results):
    return percent(sum(len(reproduced(r)) for r in results), sum(len(tried(r)) for r in results))


def removed_cell(results):
    good = sum(frame.get("input_removed") == "reproduced" for r in results for frame in tried(r))
    return percent(good, sum(len(tried(r)) for r in results))


def rerun_cell(results):
    """A frame counts that reproduced from the first report, or from the run after it."""
    good = sum("reproduced" in (frame.get("rerun"), frame["verdict"] if frame["stable"] else None)
               for r in results for frame in tried(r))
    return percent(good, sum(len(tried(r)) for r in results))


def sealed_cell(results):
    """A frame counts that needs nothing but its report, the first one or that of the run after it."""
    good = sum(frame.get("rerun_self_contained", False) or frame.get("input_removed") == "reproduced"
               for r in results for frame in tried(r))
    return percent(good, sum(len(tried(r)) for r in results))


def source_cell(results, twin=False):
    """Frames of the program's own source, inlined ones too. Results that do not tell them from others are left out."""
    frames = [frame for r in results for frame in r.get("frames", []) if frame.get("source")]
    good = sum((frame["verdict"] == "reproduced" and frame["stable"]) or (twin and frame.get("twin") == "reproduced")
               for frame in frames)
    return percent(good, len(frames))


def times(results, key):
    values = [result[key] for result in results if key in result]
    return f"{median(values):.0f} / {max(values):.0f} ms" if values else "-"


def summary(results):
    """One column a mode; stack overflows apart, since their hundreds of equal frames would drown the others."""
    def line(title, cell, modes=MODES):
        return row(title, *(cell(mode) if mode in modes and results.of(mode) else "-" for mode in MODES))

    again = [mode for mode in MODES if mode not in RECORDED]

    def memory(mode):
        sizes = [r["report_bytes"] / 1024 for r in results.of(mode)]
        return f"{median(sizes):.0f} / {max(sizes, default=0):.0f} KiB"

    lines = [
        header("", *(f"`{mode}`" for mode in MODES)),
        line("crashes, of those in the table", lambda m: f"{len(results.of(m))} of "
             f"{sum(r['mode'] == m for r in results.all)}"),
        line("with at least one test", lambda m: percent(sum(bool(reproduced(r)) for r in results.of(m)), len(results.of(m)))),
        line("the same where the program is run again (`--rerun`)", lambda m: percent(
            sum(bool(reproduced(r)) or any(f.get("rerun") == "reproduced" for f in tried(r)) for r in results.of(m)),
            len(results.of(m))), again),
        line("frames that reproduce, overflows aside", lambda m: frames_cell(results.of(m, overflow=False))),
        line("the same where the program is run again (`--rerun`)", lambda m: rerun_cell(results.of(m, overflow=False)), again),
        line("the same from the report alone, its input removed from the disk", lambda m: removed_cell(results.of(m, overflow=False))),
        line("the same with `--rerun`, without the input", lambda m: sealed_cell(results.of(m, overflow=False)), again),
        line("frames that reproduce, overflows (at most 200 tried each)", lambda m: frames_cell(results.of(m, overflow=True))),
        line("own source frames with a test, overflows aside", lambda m: source_cell(results.of(m, overflow=False))),
        line("the same with a twin (`--twin`)", lambda m: source_cell(
            [r for r in results.of(m, overflow=False) if r.get("has_twin")], twin=True), RECORDED),
        line("report, median / largest", memory),
        line("memory in it, uncompressed, median", lambda m: f"{median([r.get('memory_bytes', 0) / 1024 for r in results.of(m)]):.0f} KiB"),
        line("signal to report on disk, to a tick of its time stamp, median / longest", lambda m: times(results.of(m), "report_ms")),
        line("of these until it is packed and written, median / longest",
             lambda m: times(results.of(m), "collect_ms")),
        line("report to verdicts, tests not built, median", lambda m: f"{median([r['seconds'][-1] for r in results.of(m) if 'seconds' in r]):.1f} s"),
        line("the same with `--rerun`, median", lambda m: f"{median([r['rerun_seconds'] for r in results.of(m) if 'rerun_seconds' in r]):.1f} s", again),
        line("generated tests run / of these passed or failed otherwise than recorded", lambda m: (
            f"{sum((r.get('tests_run') or {}).get('run', 0) for r in results.of(m))} / "
            f"{sum(len((r.get('tests_run') or {}).get(key, [])) for r in results.of(m) for key in ('passed', 'failed_otherwise'))}"), ["references"]),
        line("frames whose verdict changed between runs", lambda m: sum(not f["stable"] for r in results.of(m) for f in tried(r))),
    ]
    return "\n".join(lines)


def recorder(results):
    """What the recorder kept, and what that took. One column a mode with entry states, then those that had worked before."""
    columns = {f"`{mode}`": results.of(mode) for mode in RECORDED}
    columns |= {f"`{mode}`, after work": [r for r in results.after_work if r["mode"] == mode] for mode in RECORDED}
    columns = {title: kept for title, found in columns.items() if (kept := [r for r in found if r.get("recorded")])}

    def line(title, cell):
        return row(title, *map(cell, columns.values()))

    def figures(found, key, scale):
        return [(r["recorded"]["snapshots"] or {}).get(key, 0) / scale for r in found]

    def spread(values, unit, digits=1):
        return f"{median(values):.{digits}f} / {max(values):.{digits}f} {unit}"

    def share(found):
        taken = [(f["cpu_ns"] + f.get("entries_ns", 0) + f.get("faults_ns", 0), f["process_cpu_ns"])
                 for f in (r["recorded"]["snapshots"] for r in found) if f]
        long = [100 * part / whole for part, whole in taken if whole >= LONG * 1e9]
        return f"{spread(long, '%', 2)} ({len(long)} runs)" if long else "-"

    def larger(found):
        plain = {(r["program"], r["input"]): r["report_bytes"] for r in results.of("references")}
        ratios = [r["report_bytes"] / plain[key] for r in found if (key := (r["program"], r["input"])) in plain]
        return f"{spread(ratios, 'times')}" if ratios else "-"

    return "\n".join([
        header("", *columns),
        line("crashes", lambda f: len(f)),
        line("run until the crash, median / longest", lambda f: spread([r["runs"][-1]["seconds"] for r in f], "s")),
        line("frames that reproduce, overflows aside", lambda f: frames_cell([r for r in f if r["kind"] != "stack overflow"])),
        line("crashes with an entry state of at least one frame", lambda f: percent(sum(bool(r["recorded"]["frames"]) for r in f), len(f))),
        line("snapshots taken, median / most", lambda f: spread(figures(f, "taken", 1), "", 0)),
        line(f"snapshots, faults and entries by the recorder's own accounts, of the processor time, runs of {LONG} s and more", share),
        line("longest pause, median / longest", lambda f: spread(figures(f, "longest_pause_ns", 1e6), "ms")),
        line("pages kept at one time, median / most", lambda f: spread(figures(f, "log_bytes", 1 << 20), "MiB")),
        line("report, times that of `references`, median / most", larger),
    ])


def by_program(results):
    lines = [header("program", "crashes", *(f"`{m}`" for m in MODES), "`references`, run again", "`references`, input removed",
                    "overflows, `references`", "report, median")]
    for program in results.programs():
        reports = [r["report_bytes"] / 1024 for r in results.of("references", program=program)]
        lines.append(row(
            program, len(results.of("references", program=program)),
            *(frames_cell(results.of(m, False, program)) for m in MODES),
            rerun_cell(results.of("references", False, program)), removed_cell(results.of("references", False, program)),
            frames_cell(results.of("references", True, program)),
            f"{median(reports):.0f} KiB"))
    return "\n".join(lines)


def by_case(results):
    lines = [header("program", "input", "failure", "frames: own, monitored, inlined", *(f"`{m}`" for m in MODES),
                    "run again", "input removed", "report", "signal to report", "to verdicts")]
    for first in results.crashed:
        if first["mode"] != "references":
            continue
        cell = {}
        for mode in MODES:
            match = [r for r in results.of(mode) if (r["program"], r["input"]) == (first["program"], first["input"])]
            cell[mode] = f"{len(reproduced(match[0]))}/{len(tried(match[0]))}" if match and "frames" in match[0] else "-"
        frames = [frame for frame in first.get("frames", []) if frame.get("own")]
        removed = sum(frame.get("input_removed") == "reproduced" for frame in tried(first))
        again = "-" if first["kind"] == "stack overflow" else sum(f.get("rerun") == "reproduced" for f in tried(first))
        lines.append(row(
            first["program"], escape(first["input"]), escape(first.get("failure", first.get("error", "")))[:70],
            f"{len(frames)}, {sum(f['monitored'] for f in frames)}, {sum(f['inlined'] for f in frames)}",
            *(cell[m] for m in MODES), again, removed, f"{first['report_bytes'] / 1024:.0f} KiB" if "report_bytes" in first else "-",
            times([first], "report_ms").split(" ")[0] + " ms", f"{first['seconds'][-1]:.1f} s" if "seconds" in first else "-"))
    return "\n".join(lines)


def classes(results):
    lines = [header("why not, overflows aside", *(f"`{m}`" for m in MODES))]
    counts = {mode: collections.Counter(why_not(r, f) for r in results.of(mode, overflow=False) for f in tried(r)
                                        if f["verdict"] != "reproduced") for mode in MODES}
    for name in CLASSES:
        lines.append(row(name, *(counts[mode][name] for mode in MODES)))
    untried = {mode: collections.Counter(
        "inlined" if f["inlined"] else "not monitored" if f.get("own") else "of a library"
        for r in results.of(mode, overflow=False) for f in r.get("frames", []) if not f["verdict"]) for mode in MODES}
    for name in ("not monitored", "inlined", "of a library"):
        lines.append(row(f"({name}: not tried)", *(untried[mode][name] for mode in MODES)))
    return "\n".join(lines)


def frames_left(results, mode):
    lines = [header("program", "input", "frame", "instead", "said")]
    for result in results.of(mode, overflow=False):
        for frame in tried(result):
            if frame["verdict"] != "reproduced" and frame.get("rerun") != "reproduced":
                lines.append(row(result["program"], escape(result["input"]), escape(short(frame["function"])),
                                 why_not(result, frame), escape(frame["note"])[:80]))
    return "\n".join(lines)


def not_crashing(results):
    lines = [f"- {r['program']} {escape(r['input'])} (`{r['mode']}`): shipped {escape(r['shipped'])}, from source "
             f"{escape(r['ended'])}" for r in results.all if not r["crashed"]]
    lines += [f"- {r['program']} {escape(r['input'])} (`{r['mode']}`): shipped {escape(r['shipped'])} ({r['kind']}), from source "
              f"{escape(r['failure'])}: {len(reproduced(r))} of {len(tried(r))} frames reproduce, with `--rerun` {rerun_cell([r])}"
              for r in results.otherwise]
    return "\n".join(lines) or "None."


def plot(results):
    """Stacked bars, one a program and mode: how the frames that were tried ended, overflows aside."""
    bars = [(program, mode, results.of(mode, False, program)) for program in results.programs() for mode in MODES]
    bars = [(program, mode, rs) for program, mode, rs in bars if sum(len(tried(r)) for r in rs)]
    width, left, height = 560, 210, 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{len(bars) * (height + 4) + 70}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    x = left
    for name, colour in COLOURS.items():
        out.append(f'<rect x="{x % 760}" y="{8 + 18 * (x // 760)}" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{x % 760 + 14}" y="{17 + 18 * (x // 760)}">{name}</text>')
        x += 26 + 7 * len(name)
    for index, (program, mode, rs) in enumerate(bars):
        y = 56 + index * (height + 4)
        counts = collections.Counter(
            "reproduced" if f["verdict"] == "reproduced" else why_not(r, f) for r in rs for f in tried(r))
        total = sum(counts.values())
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{program} {mode}</text>')
        x = float(left)
        for name, colour in COLOURS.items():
            if counts[name]:
                w = width * counts[name] / total
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{height}" fill="{colour}"/>')
                x += w
        out.append(f'<text x="{left + width + 6}" y="{y + 12}">{counts["reproduced"]}/{total}</text>')
    return "\n".join(out + ["</svg>", ""])
