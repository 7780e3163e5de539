#!/usr/bin/env bash
# architecture.sh <root of the sources>
# The table of docs/internals/architecture.md lists exactly the directories of the sources, and its picture
# exactly the modules.
. "$(dirname "$0")/common.sh"
cd "$1"
page=docs/internals/architecture.md

# Directories with sources, one level below parts that have subdirectories.
directories() {
  find api backends core loader plugins conformance tools -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' |
    sed -E 's,^((api|backends|core|loader|plugins)/[^/]+|conformance|tools)/.*,\1,' | sort -u
}
# The table's first column: `backends/gfx8`, `gfx9` are two directories of backends.
listed() {
  sed -nE '/^\| directory \|/,/^$/s/^\| (`[^|]*`) \|.*/\1/p' "$page" | tr -d '` ' |
    awk -F, '{ part = $1; sub("/.*", "", part); print $1; for (i = 2; i <= NF; ++i) print part "/" $i }' | sort
}
difference=$(diff <(directories) <(listed)) || complain "$page's table (>) is not what there is (<):"$'\n'"$difference"

# Each part has a line in the picture that starts with its name. For backends and plugins it names each one.
picture=$(awk '/^```/ && ++fences == 2 { exit } fences == 1' "$page")
for part in api/entry core loader backends; do
  expect "$picture" "^ +$part/? " "the picture"
done
difference=$(diff <(cd backends && ls -d */ | tr -d / | grep -vx common) \
  <(grep -oE '[a-z0-9]+\.so ' <<<"$(grep -E '^ +backends/' <<<"$picture") " | sed 's/\.so //' | sort)) ||
  complain "the backends in the picture (>) are not those that there are (<):"$'\n'"$difference"
difference=$(diff <(ls -d plugins/*/ | sed 's,/$,,') <(grep -oE 'plugins/[a-z0-9_]+' <<<"$picture" | sort)) ||
  complain "the plugins in the picture (>) are not those that there are (<):"$'\n'"$difference"
finish
