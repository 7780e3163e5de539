#!/usr/bin/env bash
# warm.sh <vgpu-compiler> <vgpu-run> <saxpy> <scratch directory>
# vgpu-compiler --warm fills the kernel cache: a program whose work-groups have a warmed size compiles nothing.
. "$(dirname "$0")/common.sh"
compiler=$1 run=$2 program=$3 scratch=$4
kernels=$(dirname "$program")/saxpy_kernels.hsaco
rm -rf "$scratch"
mkdir -p "$scratch"
unset VGPU_CACHE_READONLY VGPU_COMPILER VGPU_SIMD VGPU_SCHEDULE
VGPU_COMPILER=beforehand "$run" --log dispatch "$program" 2>&1 | grep ': interpreted' >/dev/null &&
  skip "this machine compiles no kernels"

# warm <cache> <argument>...: the output, and the status as the last line.
warm() {
  local code=0
  VGPU_CACHE=$scratch/$1 "$compiler" --warm "${@:2}" 2>&1 || code=$?
  echo "status $code"
}
said=$(warm cache --gpu gfx900 "$kernels")
expect "$said" '^gfx900 saxpy \(256,1,1\) avx(2|512): compiled \([0-9]+ ms\)$' "a kernel"
expect "$said" '^2 compiled, 0 in the cache before, 0 not compiled$' "the summary"
expect "$said" '^status 0$' "success"
expect "$(warm cache "$kernels")" '^0 compiled, 2 in the cache before, 0 not compiled$' "the second time"

# A program finds the code in the read-only directory, and stores nothing in its cache.
# run_with <read-only cache> <variable>...: the log of the program.
run_with() {
  rm -rf "$scratch/own"
  env "VGPU_CACHE=$scratch/own" "VGPU_CACHE_READONLY=$scratch/$1" "${@:2}" "$run" --gpu gfx900 --log dispatch "$program" 2>&1
}
for mode in VGPU_COMPILER= VGPU_COMPILER=beforehand; do
  said=$(run_with cache "$mode") || complain "$mode: status $?"
  expect "$said" ': kernel at 0x[0-9a-f]+: compiled, from the cache$' "$mode"
  expect_not "$said" ': compiled$' "$mode"
  [ -z "$(ls -A "$scratch/own" 2>/dev/null)" ] || complain "$mode: the program compiled a kernel that was warmed"
done
# With another size of work-groups it is compiled.
warm other --group-size 64 "$kernels" >/dev/null
said=$(run_with other VGPU_COMPILER=beforehand)
expect "$said" ': kernel at 0x[0-9a-f]+: compiled$' "a size that was not warmed"
[ -n "$(ls -A "$scratch/own")" ] || complain "a size that was not warmed: nothing is stored"

# A program that contains the code object, and a part of the kernels.
cat /bin/true "$kernels" >"$scratch/with_code"
said=$(warm part --group-size 64 --group-size 16,16 --kernel '*_bug' "$scratch/with_code")
expect "$said" '^gfx900 saxpy_with_a_bug \(64,1,1\) ' "the first size"
expect "$said" '^gfx900 saxpy_with_a_bug \(16,16,1\) ' "the second size"
expect "$said" '^2 compiled, ' "one kernel in two sizes"

# Errors. A damaged code object is one.
head -c 1000 "$kernels" >"$scratch/short"
: >"$scratch/file"
wrong() {  # <status> <pattern> <argument>...
  local said
  said=$(warm cache "${@:3}")
  expect "$said" "^vgpu-compiler: error: $2" "--warm ${*:3}"
  expect "$said" "^status $1\$" "--warm ${*:3}"
}
wrong 1 "/bin/true: contains no code object" /bin/true
wrong 1 "$scratch/short: code object: truncated" "$scratch/short"
wrong 1 "$scratch/none: cannot read" "$scratch/none"
wrong 1 "$kernels: contains no such kernel for these boards; its targets are gfx900" --gpu gfx1030 "$kernels"
wrong 1 "$kernels: contains no such kernel" --kernel nothing "$kernels"
wrong 2 "--warm: missing argument"
wrong 2 "--gpu: unknown board 'gfx90O'; did you mean" --gpu gfx90O "$kernels"
wrong 2 "--group-size: invalid value '64,64'" --group-size 64,64 "$kernels"
wrong 2 "--group-size: invalid value '0'" --group-size 0 "$kernels"
wrong 2 "--simd: invalid value 'sse'; use avx2, avx512 or all" --simd sse "$kernels"
wrong 2 "unknown option '--nonsense'" --nonsense "$kernels"
wrong 2 "--simd: missing value" "$kernels" --simd
said=$(warm file/cache "$kernels")
expect "$said" "saxpy .*: compiled, but $scratch/file/cache cannot be written" "a cache that cannot be written"
expect "$said" '^status 1$' "a cache that cannot be written"
expect "$(VGPU_CACHE=off "$compiler" --warm "$kernels" 2>&1 || echo "status $?")" '^vgpu-compiler: error: there is no kernel cache' "no cache"
for option in --gpu --group-size --kernel --simd --help; do
  expect "$("$compiler" --help)" "^  $option " "the help"
done
finish
