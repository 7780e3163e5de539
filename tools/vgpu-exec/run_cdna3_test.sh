#!/bin/sh
# usage: run_cdna3_test.sh clang vgpu-exec source-directory work-directory
# Runs cdna3.cl, interpreted and compiled, with and without preloaded kernel arguments.
set -eu
mkdir -p "$4"
cp "$3/cdna3.json" "$4/cdna3.json"
for preload in 0 4; do
  "$1" -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2 \
    -mcode-object-version=5 -mllvm -amdgpu-kernarg-preload-count=$preload -o "$4/cdna3.co" "$3/cdna3.cl"
  for compiler in off beforehand; do
    VGPU_CACHE=off VGPU_COMPILER=$compiler "$2" --gpu mi300x "$4/cdna3.json" > "$4/output"
    sed -n 's/^differences: \[\(.*\)\]$/\1/p' "$4/output" > "$4/differences"
    [ "$(tr , '\n' < "$4/differences" | wc -l)" = 512 ]
    ! tr , '\n' < "$4/differences" | grep -vx 0
    grep -q '^sum: \[16128\(\.0\)\{0,1\}\]$' "$4/output" # 8 times the sum of 0 to 63
    grep -q '^pairs: \[1140867968\]$' "$4/output"  # 512 times 1.0 and 2.0: 256 and 512 in BF16
  done
done
