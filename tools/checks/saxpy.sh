#!/usr/bin/env bash
# saxpy.sh <vgpu-run> <saxpy>
# The sample computes the right result. The report on its bug names the kernel, the source line and the
# buffer.
. "$(dirname "$0")/common.sh"
run=$1 program=$2

said=$("$run" --gpu gfx900 "$program" 2>&1) || complain "status $?: $said"
expect "$said" '^gfx900: [0-9]+ dispatches of 4194304 work-items: the first took [0-9.]+ ms' "the time"
expect "$said" '; 0 elements are wrong$' "the result"

code=0
said=$("$run" --gpu gfx900 "$program" --bug 2>&1) || code=$?
[ "$code" = 1 ] || complain "with a bug: status $code"
expect "$said" 'memory fault writing 4 bytes at 0x[0-9a-f]+ \(not mapped\)' "the fault"
expect "$said" '^the kernel failed: memory fault at 0x[0-9a-f]+$' "what the program says"
expect "$said" '^  kernel +saxpy_with_a_bug' "the kernel"
expect "$said" '^  at +saxpy_with_a_bug at (\./)?kernels\.cpp:16:' "the source line"
expect "$said" '^  address +0x[0-9a-f]+ is .* the 16,777,216 bytes at 0x[0-9a-f]+' "the buffer"

# Without the kernel compiler one warning says that kernels are interpreted. 4M work-items make the kernel
# hot.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
libdir=$(cd "$(dirname "$run")/.." && pwd -P)
library=$(find "$libdir"/lib* -maxdepth 2 -name libvgpu_preload.so | head -n 1)
mkdir -p "$tree/bin" "$tree/$(dirname "${library#"$libdir"/}")"
cp "$run" "$tree/bin/"
cp "$library" "$tree/${library#"$libdir"/}"
expect "$("$tree/bin/vgpu-run" --version)" '^kernels are interpreted: vgpu-compiler is not installed with .*; install ' "the version"
said=$("$tree/bin/vgpu-run" --runtime "$(dirname "$library")" --gpu gfx900 "$program" 2>&1) || complain "status $?: $said"
[ "$(grep -c 'kernels are interpreted: vgpu-compiler is not installed' <<<"$said")" = 1 ] ||
  complain "without a compiler: $said"
finish
