#!/usr/bin/env bash
# dependencies.sh <source directory> <scratch directory>
# Checks which packages the tools install, with fake package commands that only report what is installed and
# offered.
. "$(dirname "$0")/common.sh"
sources=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"/{bin,tools}
cp "$sources/tools/common.sh" "$scratch/tools/"
cat >"$scratch/tools/dependencies" <<'END'
# purpose  package  why
build  plain                 has one name
build  old|new               is called otherwise in a newer system
build  here|there            is there by one of its names
build  nowhere|neverheard    is not to be had
test   unasked               is for another purpose
END
# command_that <name> <script>: creates a fake command.
command_that() { printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
# shellcheck disable=SC2016  # the variables are those commands'
{
  command_that dpkg-query 'for last; do :; done; case " $INSTALLED " in *" $last "*) echo installed ;; *) exit 1 ;; esac'
  command_that apt-cache 'echo "$2:"; case " $OFFERED " in *" $2 "*) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac'
  command_that apt-get 'echo "$*" >>"$CALLS"'
  command_that id 'echo 0'
}
# installs <installed> <offered>: prints the packages passed to apt-get.
installs() {
  : >"$scratch/calls"
  (INSTALLED=$1 OFFERED=$2 CALLS=$scratch/calls PATH=$scratch/bin:$PATH bash -c '. "$0"; need build' "$scratch/tools/common.sh") >/dev/null
  sed -n 's/^.* --no-install-recommends //p' "$scratch/calls"
}
expect "$(installs 'there' 'plain old new')" '^plain old nowhere$' "a system that offers both names"
expect "$(installs 'here plain neverheard' 'new')" '^new$' "a system that offers the second name"
# With --no-install the command is printed and not called.
: >"$scratch/calls"
said=$(INSTALLED='here' OFFERED='plain new' CALLS=$scratch/calls PATH=$scratch/bin:$PATH \
  bash -c '. "$0" word --no-install; need build; echo "words: $*"' "$scratch/tools/common.sh")
expect "$said" ': apt-get install -y --no-install-recommends plain new nowhere$' "the command with --no-install"
expect "$said" '^words: word$' "the words beside --no-install"
[ ! -s "$scratch/calls" ] || complain "--no-install calls apt-get $(cat "$scratch/calls")"
expect "$(installs 'plain new there nowhere' '')." '^\.$' "a system that has everything"
finish
