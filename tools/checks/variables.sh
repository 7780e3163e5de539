#!/usr/bin/env bash
# variables.sh <root of the sources>
# docs/reference/variables.md lists every environment variable that the sources read, and no other one. Its last section
# lists variables of ROCr: the sources read none of these.
. "$(dirname "$0")/common.sh"
cd "$1"
page=docs/reference/variables.md
without_effect='^## Variables of ROCr without effect$'
any='(HSA|ROCR|VGPU)_[A-Z0-9_]+'
named="($any|XDG_[A-Z]+_HOME|HOME)"

# Calls that read a variable, in all sources. Tests and benchmarks have additional variables. RIGEL_TEST_
# variables connect a test with the programs that it starts.
called() {
  grep -rhoE --include='*.cpp' --include='*.hpp' "(getenv|number_from_environment)\(\"($any|RIGEL_[A-Z0-9_]+)\"" \
    api backends core loader plugins conformance tools
  grep -rhoE --include='*.py' 'environ\.get\("RIGEL_[A-Z_]+"' tools
}
# Names in tables and arguments: string literals of the product's sources that consist of such a name. A format string ends
# with {}. Names that a public header declares or that dlsym() looks for are not variables.
literals() {
  find api backends core loader plugins tools -name '*.[ch]pp' ! -name '*_test.cpp' ! -path '*/testing/*' -print0 |
    xargs -0 grep -hoE "\"$named(\{\})?\""
  grep -hoE "\"disable_environment\": \"$any\"" backends/*/*.json.in
}
names_of_api() {
  grep -rhoE "^ *(# *define +)?HSA_[A-Z0-9_]+" api/include | grep -oE 'HSA_[A-Z0-9_]+'
  grep -rhoE 'dlsym\(.*"HSA_[A-Z0-9_]+"' api core loader plugins | grep -oE 'HSA_[A-Z0-9_]+'
}
names_in() { grep -oE "($named|RIGEL_[A-Z0-9_]+)" | sort -u; }

read=$({ called; literals; } | names_in | grep -v '^RIGEL_TEST_' | comm -23 - <(names_of_api | sort -u))
first_column() { sed -nE 's/^\| ([^|]*`[^|]*) \|.*/\1/p' | names_in; }
listed=$(sed "/$without_effect/,\$d" "$page" | first_column)
unread=$(sed -n "/$without_effect/,\$p" "$page" | sed -n 's/^| [^|]* |//p' | names_in)

for name in $(comm -23 <(echo "$read") <(echo "$listed")); do
  complain "$page: $name is missing; the sources read it"
done
for name in $(comm -13 <(echo "$read") <(echo "$listed")); do
  complain "$page: $name is listed; the sources do not read it"
done
for name in $(comm -12 <(echo "$read") <(echo "$unread")); do
  complain "$page: $name is listed as without effect; the sources read it"
done
[ "$(wc -w <<<"$read")" -gt 40 ] || complain "only these variables were found in the sources:" "$read"
[ "$(wc -w <<<"$unread")" -gt 20 ] || complain "$page: the section of ROCr's variables was not found"
finish
