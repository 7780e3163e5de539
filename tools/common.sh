# Sourced by the commands of this directory: finds the tree and installs packages.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${JOBS:-$(nproc)}

# Clones of a tree share ccache's results.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
fail() { printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# The comment at the start of a command is its help text.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
# An invalid argument stops a command before it does anything.
wrong_word() { { printf '%s: error: %s\n\n' "$(basename "$0")" "$*"; usage; } >&2; exit 2; }
want_at_most() { [ "$2" -le "$1" ] || wrong_word "too many arguments"; }  # <maximum> <number of arguments>
want_number() { case $2 in '' | 0* | *[!0-9]*) wrong_word "invalid number of $1 '$2'" ;; esac; }  # <unit> <word>
case "${1-}" in -h | --help) usage; exit ;; esac

# --no-install, anywhere among the arguments: missing packages are only named.
no_install= words=()
for word in "$@"; do
  if [ "$word" = --no-install ]; then no_install=yes; else words+=("$word"); fi
done
set -- ${words[@]+"${words[@]}"}
unset words word

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "$1: needs root, and sudo is not installed: $*"
  fi
}

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
# Not grep -q: it closes the pipe before apt-cache has written everything, which sometimes fails.
offered() { apt-cache policy "$1" 2>/dev/null | grep '^ *Candidate: *[^( ]' >/dev/null; }

# first <test> <name>|...: prints the first name for which the test succeeds.
first() {
  local name
  for name in ${2//|/ }; do
    if "$1" "$name"; then echo "$name"; return; fi
  done
  return 1
}

# need <purpose>...: installs missing packages that tools/dependencies lists for these purposes. The command
# is printed first.
need() {
  local purposes=" $* " purpose package why missing=() all=() command
  while read -r purpose package why; do
    case "$purposes" in *" $purpose "*) all+=("$package") ;; esac
  done < <(grep -v '^#' "$root/tools/dependencies")
  if ! command -v dpkg-query >/dev/null; then
    echo "This system is not Debian: nothing is installed. Required packages, by Debian's names: ${all[*]}"
    return
  fi
  for package in "${all[@]}"; do
    first installed "$package" >/dev/null || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  if [ -z "$no_install" ]; then
    command -v apt-get >/dev/null || fail "apt-get: not found; install ${missing[*]}"
    step "Installing packages (--no-install skips this)"
    as_root apt-get -qq update || echo "apt-get update failed: the present package lists are used"
  fi
  # The first name that the system offers.
  for package in "${!missing[@]}"; do missing[package]=$(first offered "${missing[package]}" || echo "${missing[package]%%|*}"); done
  command=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [ -n "$no_install" ]; then
    echo "Packages are missing. Install them with: ${command[*]}"
    return
  fi
  echo "${command[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive "${command[0]}" -qq "${command[@]:1}" ||
    fail "cannot install ${missing[*]}; see tools/dependencies for the packages and their purposes"
}

# Recent kernels randomise addresses more than the sanitizers of GCC 12 and clang 14 support.
without_aslr() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then setarch "$(uname -m)" -R "$@"; else "$@"; fi
}

# The seed archives: <fuzzer>.seeds.tar.xz next to each fuzzer.
seed_archives() { find "$root" -path "$root/build-*" -prune -o -name '*.seeds.tar.xz' -print | LC_ALL=C sort; }
