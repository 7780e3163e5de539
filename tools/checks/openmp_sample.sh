#!/usr/bin/env bash
# openmp_sample.sh <vgpu-run> <saxpy.c> <directory of LLVM> <scratch directory>
# The OpenMP sample prints the output stated at its head, with Rigel's runtime and with ROCr. clang-19's
# offloading tools and libomptarget are the installed ones, or those unpacked by the target openmp_programs.
. "$(dirname "$0")/common.sh"
run=$1 source=$2 unpacked=$3/usr/lib/llvm-19 scratch=$4
command -v clang-19 >/dev/null || skip "clang-19 is not installed"
bitcode=$(find /usr/lib -path '*amdgcn/bitcode/ockl.bc' -print -quit)
[ -n "$bitcode" ] || skip "rocm-device-libs is not installed"
llvm=/usr/lib/llvm-19
if ! [ -x $llvm/bin/clang-offload-packager ] || ! [ -e $llvm/lib/libomptarget-amdgpu-gfx900.bc ]; then
  [ -e "$unpacked/complete" ] || skip "libomp-19-dev is not installed, and the target openmp_programs is not built"
  llvm=$unpacked
fi
rm -rf "$scratch"
mkdir -p "$scratch"
clang-19 -O2 -g -fopenmp --offload-arch=gfx900 "$source" -o "$scratch/saxpy" \
  --rocm-device-lib-path="$(dirname "$bitcode")" -Wl,-rpath,"$llvm/lib" \
  -B"$llvm/bin" -isystem "$(echo "$llvm"/lib/clang/*/include)" -L"$llvm/lib" --libomptarget-amdgpu-bc-path="$llvm/lib"

expected=$(printed_by "$source")
for runtime in rigel system; do
  printed=$("$run" --runtime $runtime --gpu gfx900 "$scratch/saxpy") || complain "$runtime: status $?"
  [ "$printed" = "$expected" ] || complain "$runtime: printed '$printed', expected '$expected'"
done
# Without a GPU the program reports that it ran on the CPU.
printed=$("$run" --gpu none "$scratch/saxpy") && complain "without a GPU: status 0"
expect "$printed" 'is a CPU: y\[0\] = 5' "without a GPU"
finish
