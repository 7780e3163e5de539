# Sourced by the checks of this directory.
set -euo pipefail
export LC_ALL=C

failures=0
complain() { printf '%s\n' "$*" >&2; failures=$((failures + 1)); }
finish() { [ "$failures" = 0 ] || exit 1; }
# ctest reports exit code 77 as skipped, with the output.
skip() { printf 'skipped: %s\n' "$*"; exit 77; }

# expect <text> <pattern> <subject>
expect() { grep -qE -- "$2" <<<"$1" || complain "$3: no '$2' in:"$'\n'"$1"; }
# expect_file <text> <file> <subject>: the text equals the file, in which <word> matches any text within a
# line.
expect_file() {
  local -a lines wanted
  local i
  mapfile -t lines <<<"$1"
  mapfile -t wanted < <(sed -E 's/[][\\.^$*+?(){}|]/\\&/g; s/<[a-z]+>/.*/g' "$2")
  for ((i = 0; i < ${#lines[@]} || i < ${#wanted[@]}; i++)); do
    grep -qxE -- "${wanted[i]-}" <<<"${lines[i]-}" || { complain "$3: line $((i + 1)) of $2 is not in:"$'\n'"$1"; return; }
  done
}
# expect_not <text> <pattern> <subject>
expect_not() { ! grep -qE -- "$2" <<<"$1" || complain "$3: '$2' in:"$'\n'"$1"; }

# printed_by <source>: the expected output of a sample, from the comment at its head after "It prints:".
printed_by() { sed -n '/^\/\/ It prints:$/,/^[^/]/s,^//   ,,p' "$1"; }
