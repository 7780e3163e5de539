#!/usr/bin/env bash
# file_names.sh <root of the sources>
# A file's name describes its content without its directory. Equal names are listed with the reason.
. "$(dirname "$0")/common.sh"
list=$(realpath "$(dirname "$0")/file_names.txt")
cd "$1"

# `name directory`, once for a header and its source.
names() {
  find api backends conformance core docs/samples loader plugins tools \
    -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' | sed -E 's,(.*)/([^/]+)\.[^.]+$,\2 \1,' | sort -u
}
wrong=$(names | awk -v list="$list" '
  BEGIN {
    while ((getline line <list) > 0) {
      if (line ~ /^#/) continue
      if (split(line, part, " [|] ") != 3 || part[3] == "") print list ": not `name | folders | reason`: " line
      count = split(part[2], folder, " ")
      for (i = 1; i <= count; ++i) reason[part[1], folder[i]] = 1
      listed[part[1]] = 1
    }
  }
  { places[$1] = places[$1] " " $2; ++all[$1] }
  # Of several files with a name that has no line, one needs no reason: it is the subject of the others.
  {
    if (($1, $2) in reason) used[$1, $2] = 1
    else if (("*", $2) in reason) used["*", $2] = 1
    else ++unexplained[$1]
  }
  END {
    for (name in unexplained)
      if (unexplained[name] > (name in listed ? 0 : 1)) print name ": in these folders, not all of them with a reason:" places[name]
    for (key in reason) {
      split(key, part, SUBSEP)
      if (!(key in used) || (part[1] != "*" && all[part[1]] == 1)) print list ": no twin: " part[1] " in " part[2]
    }
  }' | sort)
[ -z "$wrong" ] || complain "files of one name that may mean different things ($list):"$'\n'"$wrong"
finish
