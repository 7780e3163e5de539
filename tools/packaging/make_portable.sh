#!/usr/bin/env bash
# make_portable.sh: builds in build-portable and packs rigel-<version>-x86_64.tar.zst there. tools/package
# --portable calls it with SOURCE_DATE_EPOCH set.
#
# The archive needs glibc 2.36 or later, and no other library of the system. The C++ library, Boost and LLVM
# are linked statically. libelf is not, because Debian's static library has no position-independent code. A
# copy is in lib/rigel-private under another name, so that a program that uses the system's libelf or zlib
# does not get this one.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cd "$root"
version=$(sed -n 's/^project(rigel VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
build=$root/build-portable name=rigel-$version-$(uname -m)
tree=$build/$name log=$build/portable.log
mkdir -p "$build"
cmake --preset portable >"$log" 2>&1 || { cat "$log"; fail "configuring failed"; }
cmake --build build-portable -j "$jobs" >>"$log" 2>&1 || { tail -n 40 "$log"; fail "the build failed"; }
[ -x "$build/bin/vgpu-compiler" ] || fail "the kernel compiler was not built; $log has the reason"
rm -rf "$tree" "$tree.tar.zst"
cmake --install build-portable --prefix "$tree" --strip >>"$log" 2>&1 || { tail -n 40 "$log"; fail "the installation failed"; }

# use_private <file> <library> <runpath>: the file needs the private copy of the library, in this directory. Each
# change is a separate call: patchelf 0.14 mixes up the strings of several.
use_private() {
  patchelf --replace-needed "$2" "${2/lib/librigel-}" "$1"
  patchelf --set-rpath "$3" "$1"
}
private=$tree/lib/rigel-private
mkdir "$private"
for library in libelf.so.1 libz.so.1; do
  cp "$(realpath "/usr/lib/$(uname -m)-linux-gnu/$library")" "$private/${library/lib/librigel-}"
  patchelf --set-soname "${library/lib/librigel-}" "$private/${library/lib/librigel-}"
done
use_private "$private/librigel-elf.so.1" libz.so.1 "\$ORIGIN"
use_private "$(realpath "$tree/lib/libhsa-runtime64.so.1")" libelf.so.1 "\$ORIGIN/rigel-private"

# Licences of linked and copied libraries.
licences=$tree/share/doc/rigel/third-party
mkdir -p "$licences"
for package in libelf1 zlib1g libzstd1 libllvm19 libstdc++6 libboost-dev libfmt-dev libmsgpack-cxx-dev nlohmann-json3-dev libexpected-dev; do
  cp "/usr/share/doc/$package/copyright" "$licences/$package"
done

# Every file needs only the C library, of version 2.36 at most, and files of the archive.
while read -r file; do
  head -c 4 "$file" | grep -q ELF || continue
  for needed in $(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $needed in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*) ;;
      *) [ -n "$(find "$tree/lib" -name "$needed" -print -quit)" ] || fail "${file#"$tree/"} needs $needed" ;;
    esac
  done
  newest=$(readelf -VW "$file" 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
  [ "$(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -n 1)" = GLIBC_2.36 ] || fail "${file#"$tree/"} needs $newest"
done < <(find "$tree" -type f \( -perm -u+x -o -name '*.so*' \))

tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$build" -c "$name" |
  zstd -q -19 -T1 -o "$tree.tar.zst"
ls -l "$tree.tar.zst"
