#!/usr/bin/env bash
# llvm.sh <version> <folder>
# What clang-<version> needs to compile OpenMP for AMD GPUs and to run it: its offloading tools, libomptarget with the
# plugin for AMD GPUs, and the device's side of it. Debian's libomp-<version>-dev exclude each other, so the packages are
# unpacked in the folder and not installed. Prints the folder of LLVM; where it cannot be had, says why, with code 1.
set -euo pipefail
version=$1 folder=$2
llvm=$folder/usr/lib/llvm-$version
complete() { [ -e "$llvm/complete" ]; }
if ! complete; then
  rm -rf "$folder"
  mkdir -p "$folder"
  cd "$folder"
  for package in "libomp-$version-dev" "libomp5-$version" "clang-tools-$version"; do
    apt-get -qq download "$package" >download.log 2>&1 ||
      { echo "apt-get download $package: $(grep -m1 '^E:' download.log || tail -n 1 download.log)" >&2; exit 1; }
    dpkg -x "$package"_*.deb .
    rm "$package"_*.deb
  done
  # The compiler looks for its tools beside them, and the linker's wrapper for the compiler.
  for tool in "/usr/lib/llvm-$version/bin"/*; do
    [ -e "$llvm/bin/${tool##*/}" ] || ln -s "$tool" "$llvm/bin/${tool##*/}"
  done
  : >"$llvm/complete"
fi
echo "$llvm"
