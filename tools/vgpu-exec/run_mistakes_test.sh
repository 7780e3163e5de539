#!/bin/sh
# usage: run_mistakes_test.sh vgpu-exec work-directory
# Invalid command lines are rejected with status 2 before anything is done.
set -eu
rm -rf "$2"
mkdir -p "$2/folder"
# rejects <status> <message> <argument>...
rejects() {
  wanted=$1 says=$2
  shift 2
  code=0
  said=$("$exec" "$@" 2>&1) || code=$?
  if [ "$code" != "$wanted" ] || [ "$said" != "vgpu-exec: error: $says" ]; then
    echo "$*: status $code, not $wanted, and: $said"
    exit 1
  fi
}
exec=$1
cd "$2"
for count in x 0 -1 1025 9999999 2x ''; do
  rejects 2 "--threads: invalid value '$count'; use a number from 1 to 1024" --threads "$count" run.json
done
for count in x 0 -1 4294967296; do
  rejects 2 "--repeat: invalid value '$count'; use a number from 1 to 4294967295" --repeat "$count" run.json
done
rejects 2 "--gpu: missing value" run.json --gpu
rejects 2 "unknown option '--gpus'; use vgpu-exec --help" --gpus gfx900 run.json
rejects 2 "unexpected argument 'b.json'" a.json b.json
rejects 2 "missing argument: run.json" --threads 2
code=0
said=$("$exec" --gpu gfx9 run.json 2>&1) || code=$?
case "$code $said" in
  "2 vgpu-exec: error: unknown board 'gfx9'"*) ;;
  *) echo "--gpu gfx9: status $code and: $said" && exit 1 ;;
esac
# An unreadable file is a run-time error, not an invalid command line.
rejects 1 "run.json: cannot read" run.json
rejects 1 "folder: cannot read" folder
echo '{}' >empty.json
rejects 1 "empty.json: key 'grid' not found" empty.json
[ "$("$exec" --help | head -n 1)" = "usage: vgpu-exec [options] run.json" ]
