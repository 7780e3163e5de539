#!/bin/sh
# compare_queries.sh <hsa_queries> <folder of a library> <folder of the other> <known differences> [command...]
# What two libraries answer, side by side, each run by the command (a virtual GPU, say). Fails on a difference that
# the list does not know; what the second does not answer at all (newer attributes) is none.
set -eu
queries=$1 first=$2 second=$3 known=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LD_LIBRARY_PATH=$first "$@" "$queries" >"$folder/first" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
LD_LIBRARY_PATH=$second "$@" "$queries" >"$folder/second" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
grep -q 'HSA_AGENT_INFO_DEVICE = 1 ' "$folder/second" || { echo "no GPU was there to compare"; exit 1; }

status=0
while read -r key value; do
  if grep -q -F -x "${key%:}: status 0x1001" "$folder/second"; then continue; fi
  theirs=$(grep -F -m 1 "$key " "$folder/second" || true)
  theirs=${theirs#"$key "}
  if [ "$theirs" = "$value" ]; then continue; fi
  while read -r pattern reason; do
    case $pattern in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2254  # it is a pattern
    case ${key%:} in $pattern) continue 2 ;; esac
  done <"$known"
  echo "$key $value, but the other: ${theirs:-nothing}"
  status=1
done <"$folder/first"
exit $status
