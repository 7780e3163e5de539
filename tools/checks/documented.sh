#!/usr/bin/env bash
# documented.sh <folder of the public headers> <conformance/functions.inc>
# Every function of the API is declared behind a documentation comment of its own: one of its purpose, or, where a group of
# operations shares one, of what sets it apart.
. "$(dirname "$0")/common.sh"
headers=("$1"/hsa/*.h) list=$2

# One line for each declaration: its name, and whether a comment ends right before it.
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
