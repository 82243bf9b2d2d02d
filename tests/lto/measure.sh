#!/usr/bin/env bash
# What records cost under link-time optimisation, made in the compile step or in the link step: instructions by callgrind,
# bytes of .recrash_map. measure.sh [PREFIX]; docs/measurements/instrumentation.md has the table.
set -euo pipefail
sources=$(dirname "$(readlink -f "$0")")
prefix=$(readlink -f "${1:-build/prefix}")
cd "$(mktemp -d)"

measure() {
  local name=$1 unit
  shift
  for unit in cursor value main; do "$@" -O2 -c "$sources/$unit.cc" -o $unit.o; done
  "$@" -O2 -fuse-ld=lld cursor.o value.o main.o -o program
  echo "$name"
  readelf -SW program |
    sed -n 's/.* .recrash_map *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/  bytes of recrash_map: 0x\1/p'
  strip program  # valgrind 3.19 gives up on clang 19's DWARF
  valgrind --tool=callgrind --callgrind-out-file=/dev/null ./program 2>&1 |
    sed -n 's/.*Collected : /  instructions: /p'
}

for kind in thin full; do
  measure "$kind, plain" clang++-19 -flto=$kind
  measure "$kind, records in the compile step" "$prefix/bin/recrash-clang++" -flto=$kind -recrash-lto=compile
  measure "$kind, records in the link step" "$prefix/bin/recrash-clang++" -flto=$kind
done
