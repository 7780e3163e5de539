#!/usr/bin/env bash
# hip_sample.sh <vgpu-run> <saxpy.hip> <scratch directory>
# The HIP sample prints the output stated at its head, with Rigel's runtime and with ROCr. The report on its
# bug names the kernel, the source line and the buffer.
. "$(dirname "$0")/common.sh"
run=$1 source=$2 scratch=$3
command -v hipcc >/dev/null || skip "hipcc is not installed"
rm -rf "$scratch"
mkdir -p "$scratch"
hipcc -g --offload-arch=gfx900 "$source" -o "$scratch/saxpy"
hipcc -g -DBUG --offload-arch=gfx900 "$source" -o "$scratch/saxpy_with_a_bug"

expected=$(printed_by "$source")
line=$(grep -n 'y\[i + n\]' "$source" | cut -d : -f 1)
for runtime in rigel system; do
  printed=$("$run" --runtime $runtime --gpu gfx900 "$scratch/saxpy") || complain "$runtime: status $?"
  [ "$printed" = "$expected" ] || complain "$runtime: printed '$printed', expected '$expected'"

  # HIP aborts the program.
  status=0
  report=$("$run" --runtime $runtime --gpu gfx900 "$scratch/saxpy_with_a_bug" 2>&1) || status=$?
  [ "$status" = 134 ] || complain "$runtime, with the bug: status $status"
  expect "$report" 'memory fault writing 4 bytes at 0x[0-9a-f]+ \(not mapped\)' "$runtime: the fault"
  expect "$report" '^  kernel +saxpy\(unsigned int, float, float const\*, float\*\)' "$runtime: the kernel"
  expect "$report" "^  at +saxpy\(.*saxpy\.hip:$line:" "$runtime: the source line"
  expect "$report" '^  address +0x[0-9a-f]+ is .* the 4,194,304 bytes at 0x[0-9a-f]+' "$runtime: the buffer"
done
finish
