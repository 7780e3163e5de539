#!/usr/bin/env bash
# llvm.sh <version> <directory>
# Unpacks the packages that clang-<version> needs for OpenMP on AMD GPUs: offloading tools, libomptarget with the plugin
# for AMD GPUs, and the device library. They are not installed, because Debian's libomp-<version>-dev packages conflict.
# Prints LLVM's directory. On failure, prints the reason and exits with 1.
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
  # The compiler and the linker wrapper search the other tools in their own directory.
  for tool in "/usr/lib/llvm-$version/bin"/*; do
    [ -e "$llvm/bin/${tool##*/}" ] || ln -s "$tool" "$llvm/bin/${tool##*/}"
  done
  : >"$llvm/complete"
fi
echo "$llvm"
