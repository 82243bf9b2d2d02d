"""One cell: run, looked at, and compared with the list of expected failures."""

import contextlib
import dataclasses
import shutil
import time

import builds
import checks
import expected_failures
import running

CHECKS = ("plain", "status", "clean", "report", "content", "reproduces", "as collected")
LEARNS = ("second-chance", "references+second-chance")  # the first failure names the functions to watch in the next run


@dataclasses.dataclass
class Result:
    cell: object
    wrong: dict = dataclasses.field(default_factory=dict)  # {check: sentences}; only checks that were made
    refused: str = ""
    collect_ms: float = None
    seconds: dict = dataclasses.field(default_factory=dict)  # {phase: what it took}

    @contextlib.contextmanager
    def timed(self, phase):
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0) + time.monotonic() - begin

    @property
    def unexpected(self):
        """Sentences on checks that failed and are not listed, and on those that are listed and hold."""
        if self.refused:
            return []
        must, may, why = expected_failures.of(self.cell)
        if not checks.reports_expected(self.cell):
            must = must - {"report"}
        return [f"{check}: {'; '.join(said)}" for check, said in self.wrong.items() if said and check not in must | may] + \
            [f"{check} holds, but is listed as an expected failure: {why}"
             for check, said in self.wrong.items() if not said and check in must]

    @property
    def listed(self):
        return not self.refused and any(self.wrong.values()) and not self.unexpected


def start_watched(cell, work, folder, build):
    """Where the mode learns, its second run. A collector puts the functions into the profile; without one the desk does."""
    ran = running.start(cell, work, folder, build, watched=True)
    if cell.mode not in LEARNS or ran.end is None:
        return ran
    if cell.surroundings in checks.WRITTEN_ALONE and ran.reports:
        said = list(checks.learns(ran, build, running.environment(cell, work, folder, build, watched=False)))
        if said:
            raise running.Refused("; ".join(said))
    for file in ran.reports:
        file.unlink()
    return running.start(cell, work, folder, build, watched=True)


def examine(cell, work, folder, result):
    plain_build, build = builds.build(builds.PLAIN, work), builds.build(cell.mode, work)
    with result.timed("plain"):
        plain = running.start(cell, work, folder / "plain", plain_build, watched=False)
    result.wrong["plain"] = list(checks.dies(cell, plain))
    if result.wrong["plain"]:
        return
    with result.timed("watched"):
        ran = start_watched(cell, work, folder / "watched", build)
    result.wrong["status"] = list(checks.as_without_recrash(plain, ran))
    result.wrong["clean"] = list(checks.nothing_left(ran))
    result.wrong["report"] = list(checks.has_report(cell, ran))
    if result.wrong["report"] or not ran.reports:
        return
    environment = running.environment(cell, work, folder, build, watched=False)
    with result.timed("show"):
        shown = checks.show(ran, build, environment)
    if isinstance(shown, str):
        result.wrong["content"] = [shown]
        return
    result.collect_ms = shown["collect_ms"] or None
    result.wrong["content"] = list(checks.says_what_failed(cell, ran, build, shown))
    with result.timed("reproduce"):
        result.wrong["reproduces"] = list(checks.reproduces(cell, ran, build, environment))
    if cell.surroundings in checks.WRITTEN_ALONE:
        with result.timed("as collected"):
            twin = dataclasses.replace(cell, surroundings=checks.COLLECTED_IN.get(cell.surroundings, "usual"))
            collected = start_watched(twin, work, folder / "collected", build)
            result.wrong["as collected"] = list(checks.as_collected(cell, ran, collected, build, environment))


def run(cell, work, cells_folder, keep=False):
    folder, result = cells_folder / cell.folder, Result(cell)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        examine(cell, work, folder, result)
    except running.Refused as refused:
        result.refused = str(refused)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return result
