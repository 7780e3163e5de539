#!/usr/bin/env bash
# debian_headers.sh <directory of libhsa-runtime64.so.1> <list_agents.c> <installed directory of hsa/hsa.h>
# A program that is compiled with Debian's headers and linked with its library runs on this library.
. "$(dirname "$0")/common.sh"
libdir=$1 source=$2 include=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -std=c99 -Wall -Werror -isystem "$include" -o "$scratch/program" "$source" -lhsa-runtime64 ||
  { complain "it does not compile"; finish; }
used=$(LD_LIBRARY_PATH=$libdir ldd "$scratch/program" | awk '/libhsa-runtime64/ { print $3 }')
[ "$(realpath "$used")" = "$(realpath "$libdir/libhsa-runtime64.so.1")" ] || complain "it runs on $used"
expect "$(LD_LIBRARY_PATH=$libdir "$scratch/program")" '^agent 0: CPU, ' "what it prints"
finish
