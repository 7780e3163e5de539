#!/bin/sh
# compare_queries.sh <hsa_queries> <directory of a library> <directory of the other> <known differences> [command...]
# Compares the answers of two libraries, each run by the command (for example a virtual GPU). Fails on a difference that
# is not in the list. Attributes that the second library does not support (newer ones) are ignored.
set -eu
queries=$1 first=$2 second=$3 known=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LD_LIBRARY_PATH=$first VGPU_RUNTIME=system "$@" "$queries" >"$folder/first" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
LD_LIBRARY_PATH=$second VGPU_RUNTIME=system "$@" "$queries" >"$folder/second" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
grep -q 'HSA_AGENT_INFO_DEVICE = 1 ' "$folder/second" || { echo "compare_queries.sh: error: the second library found no GPU"; exit 1; }

# Patterns contain * and [...] as in a shell.
awk -v known="$known" '
  BEGIN {
    while ((getline line <known) > 0) {
      split(line, part, " ")
      if (part[1] == "" || part[1] ~ /^#/) continue
      gsub(/\./, "\\.", part[1])
      gsub(/\*/, ".*", part[1])
      patterns[++count] = "^" part[1] "$"
    }
  }
  { key = $1; value = substr($0, length(key) + 2); name = key; sub(/:$/, "", name) }
  NR == FNR { theirs[key] = value; next }
  theirs[name ":"] == "status 0x1001" || (key in theirs && theirs[key] == value) { next }
  {
    for (i = 1; i <= count; ++i) if (name ~ patterns[i]) next
    print key " first: " value ", second: " (key in theirs ? theirs[key] : "(no answer)")
    failed = 1
  }
  END { exit failed }
' "$folder/second" "$folder/first"
