#!/usr/bin/env bash
# compile.sh <version> <directory for LLVM> <target> <source> <program>
# Compiles a program with clang-<version> for the host and for one AMD GPU. If a package is missing, writes the reason to
# <program>.skipped, which the test prints.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$1 folder=$2 target=$3 source=$4 program=$5
rm -f "$program.skipped"
skip() { echo "$*" | tee "$program.skipped"; exit 0; }
command -v "clang-$version" >/dev/null || skip "clang-$version is not installed"
bitcode=$(find /usr/lib -path '*amdgcn/bitcode/ockl.bc' -print -quit 2>/dev/null)
[ -n "$bitcode" ] || skip "rocm-device-libs is not installed"
llvm=$("$here/llvm.sh" "$version" "$folder" 2>&1) || skip "$llvm"
# Debian 12's device library has the version constants of targets up to gfx1036. Its code suits later targets too.
if [ ! -e "$(dirname "$bitcode")/oclc_isa_version_${target#gfx}.bc" ]; then
  own=$program.bitcode
  rm -rf "$own"
  mkdir -p "$own"
  ln -s "$(dirname "$bitcode")"/*.bc "$own"
  number=${target#gfx} # gfx1151 is 11501
  printf '%s\n' 'target triple = "amdgcn-amd-amdhsa"' \
    "@__oclc_ISA_version = linkonce_odr protected addrspace(4) constant i32 ${number::-1}0${number: -1}" |
    "clang-$version" -nogpulib -target amdgcn-amd-amdhsa -x ir -c -emit-llvm -o "$own/oclc_isa_version_$number.bc" -
  bitcode=$own/ockl.bc
fi
options=(-O2 -Wall -Wextra -fopenmp -fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target=amdgcn-amd-amdhsa "-march=$target")
options+=("-B$llvm/bin" -isystem "$(echo "$llvm"/lib/clang/*/include)" "-L$llvm/lib" "-Wl,-rpath,$llvm/lib")
options+=("--libomptarget-amdgpu-bc-path=$llvm/lib" "--rocm-device-lib-path=$(dirname "$bitcode")")
[ "$version" = 14 ] && options[${#options[@]}-2]="--libomptarget-amdgcn-bc-path=$llvm/lib"
exec "clang-$version" "${options[@]}" -Wno-unused-command-line-argument "$source" -o "$program"
