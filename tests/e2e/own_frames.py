#!/usr/bin/env python3
"""How many frames of a program's own source have a test: samples and the programs of test_inlined.py, at -O2, with and without a twin.

RECRASH_PREFIX=build/prefix tests/e2e/own_frames.py
"""

import pathlib
import signal

import harness
from test_inlined import GRID, TWIN, WORKERS
from test_samples import CRASHES


class Count(harness.Workspace):
    """Prints a table; asserts nothing."""

    def frames(self, program, report, *options):
        """(frames of the source, those of them that are inlined, those that have a test)"""
        try:
            result = self.reproduce(program, *options, report=report)
        except harness.CommandFailed:
            return "-"
        own = [f for f in result["frames"] if f["file"].endswith(f"/{program.name}.cc")]
        tests = sum(f["verdict"] == "reproduced" for f in own)
        return f"{tests} of {len(own)} ({sum(f['inlined'] for f in own)} inlined)"

    def programs(self):
        for sample, arguments, died_of, _, flags in CRASHES:
            yield f"{sample} {' '.join(arguments)}", self.sample(sample), arguments, died_of, ("-O2", "-g", *flags)
        yield "grid", GRID, (), signal.SIGSEGV, ("-O2", "-g")
        yield "workers", WORKERS, (), signal.SIGSEGV, ("-O2", "-g", "-pthread")

    @staticmethod
    def sample(name):
        return (pathlib.Path(harness.SAMPLES) / name / f"{name}.cc").read_text()

    def test_count(self):
        rows = [("program", "alone", "with a twin")]
        for name, text, arguments, died_of, flags in self.programs():
            output = name.split()[0]
            program = self.compile_text(text, output, flags)
            twin = self.compile(f"{output}.cc", output=f"{output}-twin", flags=(*flags, *TWIN))
            report = self.crash(program, *arguments, died_of=died_of)
            rows.append((name, self.frames(program, report), self.frames(program, report, "--twin", twin)))
        for row in rows:
            print("".join(f"{cell:28}" for cell in row))


if __name__ == "__main__":
    harness.main()
