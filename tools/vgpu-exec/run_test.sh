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
# Started through PATH, the program finds the kernel compiler as it does by its path. 20,000 runs make the kernel hot.
if [ "$3" = gfx900 ]; then
  "$2" --gpu "$3" --repeat 20000 "$5/test.json" 2>"$5/by_path" >/dev/null
  PATH="$(dirname "$2"):$PATH" "$(basename "$2")" --gpu "$3" --repeat 20000 "$5/test.json" 2>"$5/by_name" >/dev/null
  cmp "$5/by_path" "$5/by_name"
fi
"$2" --help | grep -q '^  --trace FILE '
