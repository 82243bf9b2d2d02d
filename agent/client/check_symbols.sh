#!/bin/sh
# check_symbols.sh NM ARCHIVE LIST: fails when the archive leaves a symbol undefined that the list does not explain, or
# when the list explains one that is not needed any more.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" -u "$2" | awk 'NF == 2 { print $2 }' | sort -u >"$folder/found"
awk '/^[^#]/ { if (NF < 2) { print FILENAME ": no reason for " $1 >"/dev/stderr"; exit 1 } print $1 }' "$3" |
  sort -u >"$folder/listed"
new=$(comm -23 "$folder/found" "$folder/listed" | tr '\n' ' ')
old=$(comm -13 "$folder/found" "$folder/listed" | tr '\n' ' ')
[ -z "$new" ] || echo "needed by $2 and not listed in $3: $new"
[ -z "$old" ] || echo "listed in $3 and not needed: $old"
[ -z "$new$old" ]
