#!/bin/sh
# check_state.sh READELF NM ARCHIVE: fails when a variable of the client lies outside the pages that state.ld lays out,
# or one that must be sealed outside the sealed ones.
set -eu
outside=$("$1" -SW "$3" | sed 's/^ *\[ *[0-9]*\] *//' |
  awk '$7 ~ /W/ && $7 !~ /T/ && $5 !~ /^0+$/ && $1 !~ /^\.(bss\.recrash$|data\.rel\.ro|init_array\.101$)/ { print $1 }')
[ -z "$outside" ] || { echo "data outside of the pages of the client, or a second initialiser: $outside"; exit 1; }
"$2" "$3" | awk '
  $3 == "recrash_sealed_begin" { begin = $1 }
  $3 == "recrash_sealed_end" { end = $1 }
  $3 ~ /g_handler_stack_mutex_|g_handler_stack_E|g_first_chance_handler_|client7g_state|g_handlerE|g_arena/ {
    at[$3] = $1; ++count
  }
  END {
    if (begin == "" || end == "" || substr(begin, length(begin) - 2) != "000" || substr(end, length(end) - 2) != "000") {
      print "the sealed pages (" begin " to " end ") do not begin and end at a page"; exit 1
    }
    # As text: 19e8 is a number to awk.
    for (name in at) if ("x" at[name] < "x" begin || "x" at[name] >= "x" end) { print name " is not sealed"; failed = 1 }
    if (count < 7) { print "only " count " of 7 sealed variables were found"; failed = 1 }
    exit failed
  }'
