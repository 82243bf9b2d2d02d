"""Suites in which each file is a program: compiled and run in both modes, one after the other, outcome and output compared."""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import tempfile

import building
import product

SECONDS = 120

# What changes the outcome of a program only where its behaviour is undefined: functions elsewhere, other values in variables
# that nothing was stored to. (gcc's 921202-1.c compares such a variable; clang leaves nothing of its main but a return, and
# the exit status is a byte of main's address.)
HARMLESS = ((), (), ("-falign-functions=64",), ("-ftrivial-auto-var-init=pattern",))


def options_of(file):
    """What the file itself asks of its compiler (DejaGnu, lit), and the other files that are part of it."""
    text = file.read_text(errors="replace")
    words, others = [], []
    for kind, value, rest in re.findall(r'dg-(options|additional-options|additional-sources) \{?\s*"([^"]*)"\s*([^\n]*)', text):
        if "target" in rest and not re.search(r"x86_64|(?<![\w?])\*-\*-\*", rest) or "ilp32" in rest or "ia32" in rest:
            continue  # for another machine
        (others if kind == "additional-sources" else words).extend(value.split())
    for value in re.findall(r"ADDITIONAL_COMPILE_FLAGS: (.*)", text):
        words += value.split()
    sources = [str(file), *(str(file.parent / other) for other in others)]
    if file.parent.name == "builtins":  # each has its own replacement of a library function, and all one main
        sources += [str(file.with_name(file.stem + "-lib.c")), str(file.parent / "lib/main.c")]
    return words, sources


def is_program(file):
    return not (file.parent.name == "lib" or file.stem.endswith("-lib"))


def compile_command(suite, source, file, mode, dialect, program, more=()):
    cc, cxx, mode_flags = product.compilers(mode)
    words, sources = options_of(file)
    flags = [flag.format(source=source) for flag in suite.flags]
    return [cc if file.suffix == ".c" else cxx, *mode_flags.split(), f"-std={dialect}", *words, suite.level, *more, *sources, *flags,
            "-o", str(program)]


def compiles(command, folder):
    with open(folder / "compiler.txt", "w+b") as output:
        outcome = building.run(command, folder, building.environment(folder / "reports"), SECONDS, output)
        output.seek(0)
        return outcome == "exit status 0", output.read().decode(errors="replace")


def run_program(program, folder):
    """What it came to, with what it said. A program's own folder is empty, its name is the same in both modes."""
    reports = folder / "reports"
    with open(folder / "stdout", "w+b") as out, open(folder / "stderr", "w+b") as err:
        outcome = building.run([str(program)], folder, building.environment(reports), SECONDS, (out, err))
    said = (folder / "stdout").read_text(errors="replace")
    complained = building.AGENT_LINE.sub("", (folder / "stderr").read_text(errors="replace"))
    return {"outcome": outcome, "stdout": said, "stderr": complained}, building.count_reports(reports)


def one_mode(suite, source, file, mode, dialect, more=()):
    """The result in one mode; None where it does not compile."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="recrash-single."))
    try:
        good, complaint = compiles(compile_command(suite, source, file, mode, dialect, folder / "program", more), folder)
        if not good:
            return {"outcome": "does not compile", "stdout": "", "stderr": complaint}, 0, False
        monitored = building.holds_map(folder / "program")
        return *run_program(folder / "program", folder), monitored
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def one_file(suite, source, file):
    """Both modes; None when plain clang does not take it in any dialect."""
    for dialect in suite.dialects:
        plain, _, map_in_plain = one_mode(suite, source, file, "plain", dialect)
        if plain["outcome"] != "does not compile":
            break
    else:
        return None
    full, reports, monitored = one_mode(suite, source, file, "full", dialect)
    assert not map_in_plain, f"{file}: the plain program is instrumented"
    result = {"plain": plain, "full": full, "reports": reports, "monitored": monitored, "stable": True}
    if plain != full:
        # Output that holds an address or a time differs from run to run: then plain differs from plain.
        again = [one_mode(suite, source, file, "plain", dialect, more)[0] for more in HARMLESS]
        result["stable"] = all(other == plain for other in again)
    return result


def files(suite, source):
    return [file for file in sorted(source.glob(suite.files)) if is_program(file)]


def run_suite(suite, source, results, progress):
    """Adds every file's result to `results` by its name, None for one that plain clang does not take; those there stay."""
    root = source / suite.files.split("*")[0]
    todo = [(name, file) for file in files(suite, source) if (name := str(file.relative_to(root))) not in results]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {pool.submit(one_file, suite, source, file): name for name, file in todo}
        try:
            for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
                results[jobs[job]] = job.result()
                progress(done, len(todo))
        finally:
            pool.shutdown(cancel_futures=True)  # when we are told to end, not after the last of them


def unpack(archive, suite, folder):
    """Only the folders that the suite needs, out of the package's archive or the one inside it."""
    members = [f"*/{name}" for name in suite.folders]
    outer = ["tar", "-xf", archive]
    if not suite.nested:
        subprocess.run([*outer, "-C", folder, "--strip-components=1", "--wildcards", *members], check=True)
        return
    with subprocess.Popen([*outer, "-O", "--wildcards", suite.nested], stdout=subprocess.PIPE) as inner:
        subprocess.run(["tar", "-xJ", "-C", folder, "--strip-components=1", "--wildcards", *members], stdin=inner.stdout,
                       check=True)
