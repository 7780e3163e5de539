#!/usr/bin/env bash
# commands.sh <root of the sources> <scratch directory>
# Every command of tools/ prints its help, and rejects invalid arguments before it does anything: it calls
# none of its programs and leaves the sources unchanged.
. "$(dirname "$0")/common.sh"
root=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
# shellcheck disable=SC2016  # the words are that program's
for program in apt-get cmake ctest dpkg-query git realpath tar; do
  printf '#!/bin/sh\necho "$0 $*" >>"%s/called"\nexit 1\n' "$scratch" >"$scratch/$program"
  chmod +x "$scratch/$program"
done

# says <status> <where> <command> <argument>...: expects the usage, alone or after an error.
says() {
  local status=$1 where=$2 command=$3 code=0
  shift 3
  PATH=$scratch:$PATH timeout 10 "$root/tools/$command" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
  [ "$code" = "$status" ] || complain "tools/$command $*: status $code, not $status"
  expect "$(cat "$scratch/$where")" "^usage: tools/$command\b" "tools/$command $*"
  expect "$(grep -A 9 '^Examples:' "$scratch/$where")" "^  (sudo )?tools/$command\b" "tools/$command $*"
  [ "$where" = out ] || expect "$(head -n 1 "$scratch/err")" "^$command: error: " "tools/$command $*"
  [ "$where" = out ] || [ ! -s "$scratch/out" ] || complain "tools/$command $*: writes to its output"
  [ ! -e "$scratch/called" ] || complain "tools/$command $* calls $(cat "$scratch/called")"
  rm -f "$scratch/called"
}

for command in bench check demo lint package seeds stress; do
  says 0 out "$command" --help
  says 0 out "$command" -h
  says 2 err "$command" --nonsense
done
says 2 err bench nothing_has_this_in_its_name
says 2 err check --all more
says 2 err check --fast
says 2 err demo foo
says 2 err demo 0
says 2 err demo 100 more
says 2 err lint --format more
says 2 err lint --analyze --nonsense
says 2 err lint no_such_file.cpp
says 2 err package --check more
says 2 err seeds remove
says 2 err seeds add vgpu_isa_fuzz
says 2 err seeds pack vgpu_isa_fuzz
for words in abc 0 '10 nonsense' '10 dev more' 'vgpu x' 'vgpu 1 nonsense' 'kernels x' 'kernels 60 nonsense' 'fuzz x' \
  'fuzz 20 nothing_has_this_in_its_name' 'aarch64 more'; do
  # shellcheck disable=SC2086  # several arguments
  says 2 err stress $words
done

# Files of a failing or interrupted command are in its build directory, which Git ignores.
mkdir "$scratch/copy"
cp -r "$root/tools" "$scratch/copy/"
printf '#!/bin/sh\necho installed\n' >"$scratch/dpkg-query"
for command in demo package; do
  PATH=$scratch:$PATH "$scratch/copy/tools/$command" >"$scratch/out" 2>&1 && complain "tools/$command passes over cmake's failure"
  expect "$(cat "$scratch/out")" "^$command: error: configuring failed" "tools/$command"
done
left=$(find "$scratch/copy" -mindepth 1 -maxdepth 1 -not -name tools -not -name 'build-*')
[ -z "$left" ] || complain "left in the sources: $left"
finish
