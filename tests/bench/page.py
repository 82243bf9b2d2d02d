"""docs/measurements/benchmarks.md and its plot, from the results that bench.py left; every figure in them comes from a result. What has no
result is a dash; what went wrong is said in words below the table."""

import math
import statistics

import measure
from subjects import SUBJECTS
from tables import escape, header, row
from variants import TOOLS, VARIANTS

REAL = [name for name, subject in SUBJECTS.items() if not subject.worst]
WORST = [name for name, subject in SUBJECTS.items() if subject.worst]
OTHERS = [name for name in VARIANTS if name != "plain"]
COLOURS = {"references": "#2f7d4f", "full": "#1f5236", "references+second-chance": "#7fb08f", "second-chance": "#b9d4c2",
           "instrument-functions": "#d9a441", "xray": "#7fa6c9", "xray-patched": "#33618c", "asan": "#c4553b"}
KIB = 1024


class Results:
    def __init__(self, found):
        self.found = found
        self.empty = found.get("runtime", {})

    def has(self, program):
        return "plain" in self.found.get(program, {})

    def of(self, program, variant, kind):
        return self.found.get(program, {}).get(variant, {}).get(kind, {})

    def rounds(self, program, variant, kind):
        return self.of(program, variant, kind).get("rounds", [])

    def instructions(self, program, variant):
        plain, count = (self.of(program, name, "instructions").get("count") for name in ("plain", variant))
        return count / plain if plain and count else None

    def ratios(self, program, variant, kind):
        """To plain of the same round, smallest first."""
        return sorted(turn["user"] / turn["plain"] for turn in self.rounds(program, variant, kind) if turn["plain"])

    def median(self, program, variant, kind):
        ratios = self.ratios(program, variant, kind)
        return statistics.median(ratios) if ratios else None

    def peak(self, program, variant):
        rounds = self.rounds(program, variant, "time")
        return statistics.median(turn["peak_kib"] / turn["plain_peak_kib"] for turn in rounds) if rounds else None

    def linked_in(self, variant, key):
        """Bytes that an empty program has more than the plain one."""
        sizes, plain = (self.of("runtime", name, "empty") for name in (variant, "plain"))
        return sizes[key] - plain[key] if sizes and plain else None

    def size(self, program, variant, key):
        """Without what is linked in, which is the same for any program."""
        sizes, plain = (self.of(program, name, "sizes") for name in (variant, "plain"))
        more = self.linked_in(variant, key)
        return (sizes[key] - more) / plain[key] if sizes and plain and more is not None else None

    def a_thread(self, variant, key, throw):
        """KiB that one more thread takes."""
        runs = self.of("runtime", variant, "threads").get("runs")
        if not runs:
            return None
        few, many = (statistics.median(run[key] for run in runs[f"{count}{' throw' if throw else ''}"]) for count in (1, 101))
        return (many - few) / 100


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def ratio(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def mean_of(results, value, variant):
    """Over the real programs, and over how many of those that have any result."""
    values = [found for program in REAL if results.has(program) and (found := value(program, variant)) is not None]
    return (geometric_mean(values), len(values)) if values else (None, 0)


def mean_cell(results, value, variant):
    mean, count = mean_of(results, value, variant)
    all_of_them = sum(results.has(program) for program in REAL)
    if mean is None:
        return "-"
    return f"**{ratio(mean)}**" + ("" if count == all_of_them else f" ({count} of {all_of_them})")


def ratio_table(results, value, cell, kind, with_worst=True):
    """A row a program; below the real ones their geometric mean, then the worst cases."""
    lines = [header("against plain", *(VARIANTS[name].title for name in OTHERS))]

    def add(programs):
        for program in programs:
            if results.has(program):
                lines.append(row(program, *(cell(results, program, name, kind) for name in OTHERS)))

    add(REAL)
    lines.append(row("**geometric mean**", *(mean_cell(results, value, name) for name in OTHERS)))
    if with_worst:
        add(WORST)
    return "\n".join(lines) + notes(results, kind)


def notes(results, kind):
    lines = [f"- {program}, {VARIANTS[name].title}: {escape(words)}." for program in [*REAL, *WORST] for name in OTHERS
             if (words := results.of(program, name, kind).get("words")) and words != VARIANTS[name].counted]
    lines += [f"- {VARIANTS[name].title}: {VARIANTS[name].counted}." for name in OTHERS if kind == "instructions" and VARIANTS[name].counted]
    return "\n\n" + "\n".join(lines) if lines else ""


def instruction_cell(results, program, variant, kind):
    value = results.instructions(program, variant)
    return ratio(value) if value else "-"


def rounds_cell(results, program, variant, kind):
    """The median, and the smallest and largest within a round; of one that is so slow that it ran once, the one."""
    ratios = results.ratios(program, variant, kind)
    if len(ratios) < 2:
        return ratio(ratios[0]) if ratios else "-"
    return f"{statistics.median(ratios):.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def peak_cell(results, program, variant, kind):
    value = results.peak(program, variant)
    return f"{value:.3f}" if value else "-"


def size_table(results, key):
    return ratio_table(results, lambda program, variant: results.size(program, variant, key),
                       lambda r, program, variant, kind: ratio(value) if (value := r.size(program, variant, key)) else "-", "sizes",
                       with_worst=False)


def linked_table(results):
    lines = [header("linked in, KiB", *(VARIANTS[name].title for name in OTHERS))]
    for key, title in (("loaded", "loaded"), ("text", "of these `.text`"), ("file", "stripped file")):
        cells = [results.linked_in(name, key) for name in OTHERS]
        lines.append(row(title, *("-" if cell is None else f"{cell / KIB:.0f}" for cell in cells)))
    starting = [results.of("runtime", name, "instructions").get("count") for name in ["plain", *OTHERS]]
    lines.append(row("thousands of instructions to start", *("-" if None in (count, starting[0]) else f"{(count - starting[0]) / 1000:,.0f}"
                                                             for count in starting[1:])))
    return "\n".join(lines)


def tool_cell(found):
    if not found:
        return "-"
    if "more_than" in found:
        return f"more than {found['more_than'] / max(found['plain'], 1e-3):,.0f}"
    if "words" in found:
        return "does not run"
    return f"{found['seconds'] / max(found['plain'], 1e-3):,.1f}" if found["seconds"] < 1000 * found["plain"] else f"{found['seconds'] / max(found['plain'], 1e-3):,.0f}"


def tool_table(results):
    lines = [header("processor time against plain", *(tool.title for tool in TOOLS.values()))]
    for program in [*REAL, *WORST]:
        if any(results.of(program, name, "tool") for name in TOOLS):
            lines.append(row(program, *(tool_cell(results.of(program, name, "tool")) for name in TOOLS)))
    said = [f"- {program}, {tool.title}: {escape(words)}" for program in [*REAL, *WORST] for name, tool in TOOLS.items()
            if (words := results.of(program, name, "tool").get("words"))]
    return "\n".join(lines) + ("\n\n" + "\n".join(said) if said else "")


def thread_table(results):
    names = ["plain", *OTHERS]
    lines = [header("KiB a thread", *(VARIANTS[name].title for name in names))]
    for title, key, throw in (("resident", "resident", False), ("resident, after a throw", "resident", True),
                              ("address space", "virtual", False), ("address space, after a throw", "virtual", True)):
        cells = [results.a_thread(name, key, throw) for name in names]
        lines.append(row(title, *("-" if cell is None else f"{cell:,.1f}" for cell in cells)))
    return "\n".join(lines)


def work_table(results):
    """What each program did, plain."""
    lines = [header("program", "instructions of the small work", "user time of the large work", "peak memory", "loaded", "the large work")]
    for program in [*REAL, *WORST]:
        if not results.has(program):
            continue
        count = results.of(program, "plain", "instructions").get("count")
        rounds = results.rounds(program, "plain", "time")
        loaded = results.of(program, "plain", "sizes").get("loaded")
        subject = SUBJECTS[program]
        version = f" {subject.recipe.version}" if subject.recipe.version else ""
        lines.append(row(
            program + version, f"{count / 1e6:,.0f} million" if count else "-",
            f"{statistics.median(turn['user'] for turn in rounds):.1f} s" if rounds else "-",
            f"{statistics.median(turn['peak_kib'] for turn in rounds) / KIB:,.0f} MiB" if rounds else "-",
            f"{loaded / KIB:,.0f} KiB" if loaded else "-", f"`{' '.join(subject.large)}`"))
    return "\n".join(lines)


def percent(value):
    return f"{100 * (value - 1):.1f} %" if value is not None else "-"


def aims(results):
    """What was aimed at and what came out; a mean is of the real programs."""
    def mean(value, variant):
        return mean_of(results, value, variant)[0]

    def size(program, variant):
        return results.size(program, variant, "loaded")

    def compilation(program, variant):
        return results.median(program, variant, "compile")

    def beside_references(program, variant):
        """What the entries add to a build that has the records."""
        with_it, without = (results.instructions(program, name) for name in (variant, "references"))
        return with_it / without if with_it and without else None

    def agent(throw):
        figures = [results.a_thread(name, "resident", throw) for name in ("full", "plain")]
        return f"{figures[0] - figures[1]:.1f} KiB" if None not in figures else "-"

    times = mean(compilation, "full")
    count = max(mean_of(results, results.instructions, name)[1] for name in OTHERS)
    return "\n".join([
        header(f"geometric mean over {count} programs", "aim", "measured"),
        row("instructions, `references`, all functions", "at most 2.5 %", percent(mean(results.instructions, "references"))),
        row("instructions, `full`: depth 1 and used fields", "at most 4.5 %", percent(mean(results.instructions, "full"))),
        row("instructions, `second-chance`, no profile", "at most 0.5 %", percent(mean(results.instructions, "second-chance"))),
        row("instructions, second chance beside `references`, no profile", "at most 0.5 %", percent(mean(beside_references, "references+second-chance"))),
        row("loaded size, `full`, without what is linked in once", "at most 6 %", percent(mean(size, "full"))),
        row("compile time, `full`", "at most 1.15 times", f"{times:.3f} times" if times else "-"),
        row("memory a thread, beyond its frames, `full`", "at most 64 KiB", f"{agent(False)}; after a throw {agent(True)}"),
    ])


def plot(results):
    """Bars of what each variant adds in instructions, on a logarithmic scale: from a tenth of a percent to a hundredfold."""
    programs = [program for program in [*REAL, *WORST] if results.has(program)]
    shown = [name for name in OTHERS if any(results.instructions(program, name) for program in programs)]
    groups = [("geometric mean", {name: mean_of(results, results.instructions, name)[0] for name in shown})]
    groups += [(program, {name: results.instructions(program, name) for name in shown}) for program in programs]
    left, width, bar, low, high = 130, 600, 11, -1, 3
    top = 30 + 18 * ((len(shown) + 3) // 4)
    height = top + len(groups) * (len(shown) * bar + 12) + 20

    def place(value):
        extra = max(100 * (value - 1), 10 ** low)
        return left + width * (min(math.log10(extra), high) - low) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height}" font-family="sans-serif" '
           'font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for index, name in enumerate(shown):
        x, y = 10 + 195 * (index % 4), 10 + 18 * (index // 4)
        out.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{COLOURS[name]}"/>'
                   f'<text x="{x + 14}" y="{y + 9}">{escape_svg(VARIANTS[name].title)}</text>')
    for power in range(low, high + 1):
        x = left + width * (power - low) / (high - low)
        out.append(f'<line x1="{x}" y1="{top}" x2="{x}" y2="{height - 16}" stroke="#d5dade"/>'
                   f'<text x="{x}" y="{top - 4}" text-anchor="middle">+{10 ** power:g} %</text>')
    y = top + 6
    for title, values in groups:
        out.append(f'<text x="{left - 8}" y="{y + len(shown) * bar / 2 + 4}" text-anchor="end">{title}</text>')
        for name in shown:
            value = values[name]
            if value:
                out.append(f'<rect x="{left}" y="{y}" width="{place(value) - left + 1:.1f}" height="{bar - 1}" fill="{COLOURS[name]}"/>'
                           f'<text x="{place(value) + 5:.1f}" y="{y + bar - 2}" font-size="9">{100 * (value - 1):+.1f}</text>')
            y += bar
        y += 12
    return "\n".join(out + ["</svg>", ""])


def escape_svg(text):
    return text.replace("`", "").replace("&", "&amp;").replace("<", "&lt;")


PAGE = """# Benchmarks

What the instrumentation costs, and what other tools cost that a person would use instead. `./dev bench --tables` writes this page, its plot and
`benchmarks/results.json`, from the results of

```
./dev bench                          # all programs and variants; resumable, builds are kept
./dev bench --quick                  # two programs, few variants, minutes
./dev bench --rounds 9 --measure time leveldb
```

## In all

{aims}

The programs are Debian's sources, built by their own build systems with clang 19 at `-O2 -g` and stripped. `second-chance` and
`references+second-chance` ran without a profile, so nothing was patched. "-" was not measured.

![instructions by program and variant](benchmarks.svg)

## Instructions

Counted by `valgrind --tool=cachegrind --cache-sim=no` on the small work (`small` in `tests/bench/subjects.py`). Instructions do not depend on what
else the machine does.

{instructions}

## User time

The large work. In each round all variants ran one after the other. A ratio is to plain in the same round: the median, and the smallest and
largest. A variant that takes more than {slow} times as long as plain ran in one round. Other work shared the two cores, so a few percent
say nothing. Code placement alone moves small programs by more (`fibonacci`).

{time}

## Peak memory

Resident memory, of the same runs.

{peak}

## Size

Of stripped programs. What is linked in once for a program stands in a table of its own: the agent, the runtimes of XRay and of the sanitizer.
*Loaded* is all that has memory when the program runs: code, data, tables.

{loaded}

`.text` alone:

{text}

The stripped file:

{file}

What is linked in, by a program that does nothing:

{linked}

## Compile time

Some files of each program, compiled as the program does. For each file the variants ran one after the other. A ratio is of user time, to plain in the
same round: the median, and the smallest and largest.

{compilation}

## Tools that take the program as it is

User and system time on the small work, as a ratio to plain (gdb's `record`: a Fibonacci of 19). Tools that gave up are named. A run is stopped
after {tool_seconds} s.

{tools}

## Memory for threads

What one more thread takes: a program with 101 threads that wait, against the same program with one. The median of {thread_runs} runs. "After a
throw": each thread has thrown and caught once.

{threads}

## What was run

{works}

- `-finstrument-functions` calls empty hooks at the entry and exit of each function. It is the option's variant `-after-inlining`, which
  calls them less often. The option itself does not link: clang takes the addresses of inlined functions of libstdc++ that are nowhere.
- XRay is told to instrument every function (`-fxray-instruction-threshold=1`, `[arg1] fun:*`). "Patched" is the same program with all
  entries and exits patched at its start. The handler keeps function and first argument in a ring of the thread.
- uftrace patches the entries of the plain program (`uftrace record -P .`). ltrace sees calls of shared libraries only.
- `pugixml` and `yaml-cpp` are the libraries with a small program that parses, walks and saves (`tests/bench/drivers`). The worst cases are
  ours: recursion and nothing else, a method of three instructions, exceptions thrown through three frames.
"""


def write(docs, found):
    results = Results(found)
    (docs / "benchmarks.svg").write_text(plot(results))
    (docs / "benchmarks.md").write_text(PAGE.format(
        aims=aims(results), slow=measure.SLOW, tool_seconds=measure.TOOL_SECONDS, thread_runs=measure.THREAD_RUNS,
        instructions=ratio_table(results, results.instructions, instruction_cell, "instructions"),
        time=ratio_table(results, lambda p, v: results.median(p, v, "time"), rounds_cell, "time"),
        peak=ratio_table(results, results.peak, peak_cell, "peak"),
        loaded=size_table(results, "loaded"), text=size_table(results, "text"), file=size_table(results, "file"),
        linked=linked_table(results),
        compilation=ratio_table(results, lambda p, v: results.median(p, v, "compile"), rounds_cell, "compile", with_worst=False),
        tools=tool_table(results), threads=thread_table(results), works=work_table(results)))
