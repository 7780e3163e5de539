#!/bin/sh
# usage: run_rdna4_test.sh clang vgpu-exec board source-directory work-directory
# Runs rdna4.cl, interpreted and compiled, on the board as one of gfx1201.
set -eu
mkdir -p "$5"
sed -e 's/"name": "[^"]*"/"name": "rdna4"/' -e 's/"gfx_target_version": [0-9]*/"gfx_target_version": 120001/' "$3" \
  > "$5/board.json"
cp "$4/rdna4.json" "$5/rdna4.json"
for level in 0 2; do
  "$1" -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -target amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -O$level \
    -mcode-object-version=5 -o "$5/rdna4.co" "$4/rdna4.cl"
  for compiler in off beforehand; do
    VGPU_CACHE=off VGPU_COMPILER=$compiler "$2" --gpu "$5/board.json" "$5/rdna4.json" > "$5/output"
    sed -n 's/^differences: \[\(.*\)\]$/\1/p' "$5/output" > "$5/differences"
    [ "$(tr , '\n' < "$5/differences" | wc -l)" = 512 ]
    ! tr , '\n' < "$5/differences" | grep -vx 0
  done
done
