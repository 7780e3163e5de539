#!/usr/bin/env bash
# documented.sh <directory of the public headers> <functions.inc of the build of conformance>
# Every function of the API has a documentation comment directly before its declaration. In a group of
# operations with a common comment, each has a comment about its difference.
. "$(dirname "$0")/common.sh"
headers=("$1"/hsa/*.h) list=$2

# Prints one line per declaration: its name, and whether a comment precedes it.
declared=$(cat "${headers[@]}" | awk '
  /^[ \t]*$/ || /^#/ { next }
  /^[ \t]*\/\*/ { inside = 1; documents = /^[ \t]*\/\*\*/ && !/@\}|@defgroup|@name/ }
  inside { if (/\*\//) { inside = 0; behind = documents } next }
  /^[ \t]*\/\// { next }
  { text = text " " $0 }
  /[;{}]/ {
    if (match(text, /HSA_API[A-Z_]*( HSA_DEPRECATED)? hsa_[a-z0-9_]+\(/)) {
      name = substr(text, RSTART, RLENGTH - 1)
      sub(/.* /, "", name)
      print name, behind
    }
    text = ""; behind = 0
  }')
while read -r name; do
  case $(grep -E "^$name " <<<"$declared" | sort -u) in
    *" 1") ;;
    '') complain "$name is declared in no public header" ;;
    *) complain "$name has no comment" ;;
  esac
done < <(sed -n 's/^FUNCTION(\(.*\))$/\1/p' "$list")
finish
