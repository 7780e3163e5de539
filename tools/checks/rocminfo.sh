#!/usr/bin/env bash
# rocminfo.sh <directory of libhsa-runtime64.so.1> <fake_kfd.so> <rigel-info>
# Debian's unmodified rocminfo lists the CPU agent if it finds this library first. Before hsa_init it requires
# that amdgpu is loaded (from lsmod; sysfs from ROCm 6 on) and that /dev/kfd opens, which are faked here. The
# runtime must detect that /dev/kfd is not a KFD, report it, and continue.
. "$(dirname "$0")/common.sh"
libdir=$1 fake_kfd=$2 info=$3
command -v rocminfo >/dev/null || skip "rocminfo is not installed"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
printf '#!/bin/sh\necho "amdgpu 1 0 - Live"\n' >"$scratch/lsmod"
chmod +x "$scratch/lsmod"
echo live >"$scratch/initstate"

run() { env FAKE_INITSTATE="$scratch/initstate" PATH="$scratch:$PATH" LD_LIBRARY_PATH="$libdir" LD_PRELOAD="$fake_kfd" "$@" 2>&1; }
output=$(run rocminfo) || complain "rocminfo failed: $output"
expect "$output" 'Runtime Version: +1\.1' "the runtime"
expect "$output" 'Device Type: +CPU' "the agent"
expect "$output" 'Pool 1' "its memory"
expect "$output" 'Features: +KERNEL_DISPATCH' "its features"
expect "$(run "$info" --report)" 'failed +driver +/dev/kfd: not an amdkfd device' "the report"
finish
