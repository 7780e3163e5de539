# Sourced by the checks beside it.
set -euo pipefail
export LC_ALL=C

failures=0
complain() { printf '%s\n' "$*" >&2; failures=$((failures + 1)); }
finish() { [ "$failures" = 0 ] || exit 1; }
# ctest reports exit code 77 as skipped, with what was said.
skip() { printf 'skipped: %s\n' "$*"; exit 77; }

# expect <text> <pattern> <what it is about>
expect() { grep -qE -- "$2" <<<"$1" || complain "$3: no '$2' in:"$'\n'"$1"; }
# expect_not <text> <pattern> <what it is about>
expect_not() { ! grep -qE -- "$2" <<<"$1" || complain "$3: '$2' in:"$'\n'"$1"; }
