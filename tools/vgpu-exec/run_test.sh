#!/bin/sh
# usage: run_test.sh clang vgpu-exec gfx source-directory work-directory
set -eu
mkdir -p "$5"
"$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O2 -mcode-object-version=4 \
  -o "$5/test.co" "$4/test.cl"
cp "$4/test.json" "$5/test.json"
"$2" --gpu "$3" --trace "$5/trace" "$5/test.json" > "$5/output"
cat "$5/output"
grep -q '^out: \[107,110,113,116\]$' "$5/output"
grep -q ' instructions, ' "$5/output"
grep -q 's_endpgm' "$5/trace"
grep -q '    v[0-9]* = ' "$5/trace"
# The counts of the profile are those of 200 work-items, interpreted and compiled.
VGPU_COMPILER=off VGPU_PROFILE="$5/profile.json" VGPU_PROFILE_MEMORY=1 VGPU_RUN_FIDELITY="$5/fidelity.json" VGPU_REQUIRE=exact \
  "$2" --gpu "$3" "$5/test.json" > "$5/output"
grep -q '"work_items": 200,' "$5/profile.json"
grep -q '"waves_per_simd": ' "$5/profile.json"
grep -q '"lines_written": [1-9]' "$5/profile.json"
grep -q '"is_exact": true,' "$5/fidelity.json"
for compiler in off beforehand; do
  VGPU_COMPILER=$compiler VGPU_PROFILE_AGAINST="$5/profile.json" "$2" --gpu "$3" --threads 2 "$5/test.json" 2> "$5/comparison" > "$5/output"
  grep -q '^profile: all counts are those of ' "$5/comparison"
done
"$2" --gpu "$3" --dump "$5/test.json" > "$5/graph"
grep -q '^block 0, the entry' "$5/graph"
grep -q 's_endpgm' "$5/graph"
for group in 0 65600 -64 1.5; do
  sed "s/\"group\": \[64\]/\"group\": [$group]/" "$4/test.json" > "$5/wrong.json"
  code=0
  "$2" --gpu "$3" "$5/wrong.json" 2> "$5/error" || code=$?
  [ "$code" = 1 ]
  grep -q "^vgpu-exec: error: group: invalid size $group; use a number from 1 to 65535$" "$5/error"
done
# A reciprocal is approximate.
if [ "$3" = gfx900 ]; then
  echo 'kernel void test(global const int* in, global float* out, int more) { out[0] = __builtin_amdgcn_rcpf(out[1]); }' > "$5/rcp.cl"
  "$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O2 -mcode-object-version=4 -o "$5/rcp.co" "$5/rcp.cl"
  sed 's/test\.co/rcp.co/' "$4/test.json" > "$5/rcp.json"
  code=0
  VGPU_REQUIRE=exact "$2" --gpu "$3" "$5/rcp.json" > "$5/output" 2> "$5/error" || code=$?
  [ "$code" = 68 ]
  grep -q '^  approximate   4 isa v_rcp_f32_e32: within one unit in the last place$' "$5/error"
fi
# Started through PATH, the program finds the kernel compiler as it does by its path. 20,000 runs make the kernel hot.
if [ "$3" = gfx900 ]; then
  "$2" --gpu "$3" --repeat 20000 "$5/test.json" 2>"$5/by_path" >/dev/null
  PATH="$(dirname "$2"):$PATH" "$(basename "$2")" --gpu "$3" --repeat 20000 "$5/test.json" 2>"$5/by_name" >/dev/null
  cmp "$5/by_path" "$5/by_name"
fi
"$2" --help | grep -q '^  --trace FILE '
