#!/usr/bin/env bash
# The main job on random_crash: crash, report, tests, their red run, the fix, their green run. Works in a folder of its
# own below the temporary directory and removes it at the end.
set -euo pipefail
prefix=$(readlink -f "${1:?usage: demo.sh PREFIX}")
sample=$(dirname "$(readlink -f "$0")")/random_crash
export PATH=$prefix/bin:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/recrash-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
export RECRASH_DIR=$work/reports
cd "$work"
cp "$sample/random_crash.cc" .

say() { printf '\n\033[1m# %s\033[0m\n' "$1"; }
show() { printf '$ %s\n' "$*"; "$@"; }

say "Build the program with recrash-clang++"
show recrash-clang++ -O2 -g random_crash.cc -o random_crash

say "Run it until it crashes: one run in eight does"
for run in $(seq 1 200); do
  set +e
  ./random_crash > out.txt 2> err.txt
  status=$?
  set -e
  [ $status -ne 0 ] && break
done
printf '$ ./random_crash     # run %s\n' "$run"
cat out.txt err.txt
echo "exit status $status"
[ $status -ge 128 ] || { echo "demo: no crash in $run runs"; exit 1; }

say "Turn the report into tests"
show recrash reproduce --program ./random_crash -o tests

say "What was written"
show cat tests/crash_test.cc

say "The tests fail today, the same way every time"
if show tests/build/crash_test; then
  echo "demo: the tests should have failed"
  exit 1
fi

say "Fix the bug, rebuild, run the same tests"
show cat "$sample/fix.patch"
patch -sp1 < "$sample/fix.patch"
show recrash-clang++ -O2 -g random_crash.cc -o random_crash
show tests/build/crash_test
