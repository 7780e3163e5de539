#!/bin/sh
# usage: run_shared_test.sh clang vgpu-exec gfx source-directory work-directory
set -eu
mkdir -p "$5"
zeros=0$(printf ',0%.0s' $(seq 63))
for apart in 3 4 6 8 12; do
  "$1" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O2 -mcode-object-version=4 -DAPART=$apart \
    -o "$5/shared.co" "$4/shared.cl"
  for kernel in rows_of_lanes loads_of_three stores_of_three loads_of_four stores_of_four; do
    case $apart$kernel in 3*four) continue ;; esac
    sed "s/KERNEL/$kernel/" "$4/shared.json" > "$5/shared.json"
    for compiler in beforehand off; do
      VGPU_COMPILER=$compiler VGPU_CACHE=off "$2" --gpu "$3" --threads 2 "$5/shared.json" > "$5/output"
      grep -qxF "wrong: [$zeros]" "$5/output" || {
        echo "$kernel, $apart dwords apart, VGPU_COMPILER=$compiler"
        cat "$5/output"
        exit 1
      }
    done
  done
done
