#!/usr/bin/env bash
# packages.sh <build directory> <scratch directory>
# Checks the contents of the packages: installs each component as CPack does. tools/package --check builds and
# tries the packages.
. "$(dirname "$0")/common.sh"
build=$1 scratch=$2
rm -rf "$scratch"
for component in runtime dev vgpu compiler; do
  mkdir -p "$scratch/$component"  # without LLVM the last has nothing
  cmake --install "$build" --component "$component" --prefix "$scratch/$component" >"$scratch.log" 2>&1 || { cat "$scratch.log"; exit 1; }
done
cmake --install "$build" --prefix "$scratch/all" >"$scratch.log" 2>&1 || { cat "$scratch.log"; exit 1; }

# Every file belongs to one package.
of() { (cd "$1" && find . -not -type d | sort); }
all_packages() { for component in runtime dev vgpu compiler; do of "$scratch/$component"; done | sort; }
twice=$(all_packages | uniq -d)
[ -z "$twice" ] || complain "in two packages: $twice"
missing=$(diff <(of "$scratch/all") <(all_packages) || true)
[ -z "$missing" ] || complain "in no package, or only there: $missing"

has() { [ -n "$(find "$scratch/$1" -path "$scratch/$1/$2")" ] || complain "$1 has no $2"; }
has runtime '*/libhsa-runtime64.so.1'
has runtime '*/libhsa-runtime64.so'  # LLVM's OpenMP plugin opens it by this name
has runtime '*/backends.d/50-gfx9.json'
has runtime 'bin/rigel-info'
has runtime 'share/man/man1/rigel-info.1.gz'
has runtime 'share/doc/rigel/start/install.md'
has dev 'include/hsa/hsa.h'
has dev '*/pkgconfig/hsa-runtime64.pc'
has vgpu 'bin/vgpu-run'
has vgpu '*/libvgpu_preload.so'
has vgpu 'share/man/man1/vgpu-run.1.gz'
has vgpu 'share/man/man1/vgpu-exec.1.gz'
has dev 'share/doc/rigel/samples/backend/CMakeLists.txt'
[ -z "$(find "$scratch/dev" -path '*/samples/CMakeLists.txt')" ] || complain "the samples seem to be one project"
has vgpu 'share/rigel/boards/vega20.json'
[ -z "$(find "$scratch/dev" "$scratch/vgpu" -name 'libhsa-runtime64.so.1*')" ] || complain "the runtime is in another package, too"
[ -z "$(find "$scratch/runtime" -name '*.h')" ] || complain "the runtime has headers"
# No file contains the path of the build, except debugging information, which packages do not contain.
while IFS= read -r file; do
  ! objdump -s -j .rodata -j .dynstr "$file" 2>/dev/null | awk '{ print $NF }' | tr -d '\n' | grep -F "$build" >/dev/null || complain "$file knows $build"
done < <(find "$scratch/runtime" "$scratch/vgpu" "$scratch/compiler" -type f \( -name '*.so*' -o -path '*/bin/*' \))
# The changelog's version, and therefore every package's, is the project's.
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(rigel VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
expect "$(head -n 1 "$root/tools/packaging/changelog")" "^rigel \\($version\\)" "the changelog"
finish
