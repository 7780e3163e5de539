#!/bin/sh
# usage: run_mistakes_test.sh vgpu-exec work-folder
# What is wrong on the command line is said, with status 2, before anything is done.
set -eu
rm -rf "$2"
mkdir -p "$2/folder"
# refuses <status> <what it says> <argument>...
refuses() {
  wanted=$1 says=$2
  shift 2
  code=0
  said=$("$exec" "$@" 2>&1) || code=$?
  if [ "$code" != "$wanted" ] || [ "$said" != "vgpu-exec: $says" ]; then
    echo "$*: status $code, not $wanted, and: $said"
    exit 1
  fi
}
exec=$1
cd "$2"
for count in x 0 -1 1025 9999999 2x ''; do
  refuses 2 "--threads should be a number from 1 to 1024 but is '$count'" --threads "$count" run.json
done
for count in x 0 -1 4294967296; do
  refuses 2 "--repeat should be a number from 1 to 4294967295 but is '$count'" --repeat "$count" run.json
done
refuses 2 "--gpu needs a value" run.json --gpu
refuses 2 "unknown option '--gpus' (--help lists them)" --gpus gfx900 run.json
refuses 2 "one file is enough, and 'b.json' is another" a.json b.json
refuses 2 "a file is needed (--help says of what kind)" --threads 2
code=0
said=$("$exec" --gpu gfx9 run.json 2>&1) || code=$?
case "$code $said" in
  "2 vgpu-exec: no board 'gfx9'"*) ;;
  *) echo "--gpu gfx9: status $code and: $said" && exit 1 ;;
esac
# A file that is wrong is no mistake on the command line.
refuses 1 "cannot read run.json" run.json
refuses 1 "cannot read folder" folder
[ "$("$exec" --help | head -n 1)" = "usage: vgpu-exec [options] run.json" ]
