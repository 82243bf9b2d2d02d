#!/usr/bin/env python3
"""What recording costs programs that have no end: a server with handlers of microseconds, a database with several threads.

  tests/real/load.py [--work DIR] [--rounds N] [--failures N] [PROGRAM…]

redis under redis-benchmark, leveldb's db_bench. Each is built plain and in `references+second-chance`, and does the same work
plain, with nothing patched, and adaptively, in turn; the figures are processor time (user and system) as ratios to
plain of the same round. Then it is made to fail while it works (redis by DEBUG SEGFAULT, db_bench by a signal at a random moment),
and the report is asked which live frames have an entry state, and what reproduces.
"""

import argparse
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import evaluate
import product
from programs import CMAKE, COPY, Program

PROGRAMS = {
    "redis": Program(
        "redis", "5:7.0.15-1~deb12u10",
        COPY, 'make -j2 -C src MALLOC=libc CC="$CC" OPTIMIZATION= REDIS_CFLAGS="$FLAGS" redis-server', "src/redis-server",
        ("redis-tools", "liblua5.1-0-dev", "libhiredis-dev", "lua-cjson-dev", "lua-bitop-dev", "libsystemd-dev", "pkg-config")),
    "leveldb": Program(
        "leveldb", "1.23-4", CMAKE + "-DLEVELDB_BUILD_TESTS=OFF", "ninja -j2 db_bench", "db_bench", ("libsnappy-dev",)),
}
# What is run: the build, and what the agent is told. `idle`: entries can be patched, and nothing is.
WAYS = {"plain": ("plain", ""), "idle": ("second-chance", "quiet=1"), "adaptive": ("second-chance", "quiet=1,adaptive=1")}
REQUESTS = ("-n", "150000", "-c", "20", "-q", "-t", "set,get,lpush,lrange_100,zadd")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Running:
    """A program at its work, in a folder of its own."""

    def __init__(self, build, options, folder):
        self.folder, self.reports = folder, folder / "reports"
        environment = {**os.environ, "RECRASH_DIR": str(self.reports), "RECRASH_OPTIONS": options, "RECRASH_PROFILE": ""}
        self.process = subprocess.Popen([build.executable, *self.arguments()], cwd=folder, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def report(self):
        self.process.wait(60)
        found = list(self.reports.glob("*.rcr"))
        return found[0] if found else None


class Redis(Running):
    def arguments(self):
        return ["--port", "0", "--unixsocket", "socket", "--save", "", "--crash-log-enabled", "no", "--enable-debug-command", "yes"]

    def wait_for_socket(self):
        while not (self.folder / "socket").exists():
            time.sleep(0.02)

    def benchmark(self):
        self.wait_for_socket()
        return subprocess.Popen(["redis-benchmark", "-s", "socket", *REQUESTS], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def work(self):
        """Does all of it; gives the processor time that it took."""
        self.benchmark().wait()
        seconds = processor_seconds(self.process.pid)
        self.process.terminate()
        self.process.wait()
        return seconds

    def fail(self, after):
        benchmark = self.benchmark()
        time.sleep(after)
        subprocess.run(["redis-cli", "-s", "socket", "debug", "segfault"], cwd=self.folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        report = self.report()
        benchmark.kill()
        benchmark.wait()
        return report


class Leveldb(Running):
    def arguments(self):
        return ["--benchmarks=fillrandom,overwrite,readrandom,readseq", "--num=300000", f"--db={self.folder}/db"]

    def work(self):
        _, _, used = os.wait4(self.process.pid, 0)
        return used.ru_utime + used.ru_stime

    def fail(self, after):
        time.sleep(after)
        self.process.send_signal(signal.SIGSEGV)
        return self.report()


KINDS = {"redis": Redis, "leveldb": Leveldb}


def in_folder(name, build, options, do):
    with tempfile.TemporaryDirectory(prefix="recrash-load.") as folder:
        running = KINDS[name](build, options, pathlib.Path(folder))
        try:
            return do(running)
        finally:
            if running.process.poll() is None and running.process.returncode is None:
                try:
                    running.process.kill()
                    running.process.wait()
                except ProcessLookupError:
                    pass


def costs(name, builds, rounds):
    seconds = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, (mode, options) in WAYS.items():
            seconds[way].append(in_folder(name, builds[mode], options, lambda running: running.work()))
    plain = seconds["plain"]
    for way, taken in seconds.items():
        ratios = sorted(one / base for one, base in zip(taken, plain))
        print(f"{name:8} {way:9} {statistics.median(taken):6.2f} s of processor time, of plain {statistics.median(ratios):.3f} "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)


def look(name, build, report, folder):
    """What the report has of entries, and what reproduces."""
    shown = evaluate.recorded(build, report, folder)
    found, _, _ = evaluate.reproduce(build, report, folder, "--no-build")
    frames = [frame for frame in (found or {}).get("frames", []) if frame["verdict"]]
    return {"frames": len(frames), "with_state": len((shown or {}).get("frames", [])), "figures": (shown or {}).get("snapshots") or {},
            "reproduced": sum(frame["verdict"] == "reproduced" for frame in frames),
            "left": [(frame["function"].split("(")[0], frame["verdict"]) for frame in frames if frame["verdict"] != "reproduced"]}


def failures(name, build, count):
    chance = random.Random(1)

    def one(running):
        report = running.fail(chance.uniform(0.5, 4))
        return look(name, build, report, running.folder) if report else None

    options = WAYS["adaptive"][1]
    seen = [found for _ in range(count) if (found := in_folder(name, build, options, one))]
    print(f"{name:8} {len(seen)} failures of {count} have a report; {sum(found['with_state'] > 0 for found in seen)} with the entry state of a live frame, "
          f"{sum(found['with_state'] for found in seen)} of {sum(found['frames'] for found in seen)} frames; "
          f"{sum(found['reproduced'] for found in seen)} reproduce")
    pauses = [found["figures"].get("longest_pause_ns", 0) / 1e6 for found in seen]
    pages = [found["figures"].get("log_bytes", 0) / (1 << 20) for found in seen]
    share = [100 * found["figures"].get("cpu_ns", 0) / max(1, found["figures"].get("process_cpu_ns", 0)) for found in seen]
    if seen:
        print(f"{name:8} longest pause {max(pauses):.1f} ms, pages {max(pages):.0f} MiB, snapshots {statistics.median(share):.2f} % of processor time")
    for left in sorted({left for found in seen for left in found["left"]}):
        print(f"{name:8}   {left[0]}: {left[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--work", type=pathlib.Path, default=evaluate.ROOT / "build/evaluate", help="keeps sources and builds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--failures", type=int, default=10)
    parser.add_argument("--build-only", action="store_true")
    options = parser.parse_args()
    evaluate.PROGRAMS.update(PROGRAMS)
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for name in options.programs or PROGRAMS:
        builds = {mode: evaluate.Build(work, name, mode) for mode in ("plain", "second-chance")}
        for build in builds.values():
            build.ensure()
        if options.build_only:
            continue
        costs(name, builds, options.rounds)
        failures(name, builds["second-chance"], options.failures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
