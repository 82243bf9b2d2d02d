"""What a test said about a build: from the JSON and the output of its GoogleTest executable.

A test is red for the recorded reason, red for another one, skipped, or green. Green while the bug is there is a *lie*.
"""

import json
import os
import re
import subprocess

RED, OTHER, SKIPPED, GREEN, DISABLED, NONE = "red", "red otherwise", "skipped", "green", "disabled", "no verdict"
KINDS = (RED, OTHER, SKIPPED, GREEN, NONE)
RECORDED = ": happens again"  # of include/recrash/test.h
SECONDS = 120


def skip_sentences(output):
    """{test: the sentence after `FILE:LINE: Skipped`}"""
    found = re.findall(r"^\[ RUN +\] \w+\.(\w+)\n(?:(?!\[ ).*\n)*?.*: Skipped\n(.*)\n", output, re.MULTILINE)
    return dict(found)


def kind_of(test):
    if test["result"] == "SUPPRESSED" or test["status"] == "NOTRUN":
        return DISABLED
    if test["result"] == "SKIPPED":
        return SKIPPED
    failures = [failure["failure"] for failure in test.get("failures", ())]
    if not failures:
        return GREEN
    return RED if any(RECORDED in failure for failure in failures) else OTHER


def words_of(test, kind, sentences):
    """The first line of why, without what differs from run to run."""
    if kind == SKIPPED:
        text = sentences.get(test["name"], "")
    else:
        text = "\n".join(failure["failure"].partition("\n")[2] for failure in test.get("failures", ()))
    text = text.partition("\n")[0]
    return re.sub(r"0x[0-9a-f]+", "0x…", re.sub(r"(?<![\w.])/[^\s:,)]*/", "", text))


def read(report, output):
    """{test: (kind, words)} from what --gtest_output=json: wrote and what was printed."""
    sentences = skip_sentences(output)
    verdicts = {}
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            kind = kind_of(test)
            verdicts[test["name"]] = kind, words_of(test, kind, sentences)
    return verdicts


def ask(tests, program, folder, expected, *options, twin=None, environment=None):
    """Runs the tests of the folder `tests` against a program and its twin, in `folder`. A test of `expected` that says nothing has no verdict.
    The output stays in folder/said.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    result, said = folder / "tests.json", folder / "said.txt"
    result.unlink(missing_ok=True)
    command = [str(tests / "build/crash_test"), "--program", str(program), f"--gtest_output=json:{result}", *options]
    if twin:
        command.append(f"--twin={twin}")
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, text=True, errors="replace")
        output, end = done.stdout, f"crash_test ended with {done.returncode}"
    except subprocess.TimeoutExpired as late:
        output, end = (late.stdout or b"").decode(errors="replace"), f"crash_test ran longer than {SECONDS} s"
    said.write_text(" ".join(command) + "\n" + output + end + "\n")
    verdicts = read(json.loads(result.read_text()), output) if result.exists() else {}
    return {test: verdicts.get(test, (NONE, end)) for test in expected}
