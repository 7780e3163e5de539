#!/usr/bin/env bash
# check_portable.sh <archive> <HIP program> <saxpy>
# Unpacks the portable archive in clean systems of Debian 12, 13 and unstable, which have HIP 5.2, 5.7 and 6.4, and runs
# programs on virtual GPUs there. RIGEL_PORTABLE_ROOTS=<directory> keeps the systems. Root only.
#
# The HIP program was compiled for gfx900 by Debian 12's hipcc. Debian unstable has another major version of
# HIP and runs a test of rocRAND instead. saxpy is the sample, next to the code object with its kernels.
. "$(dirname "${BASH_SOURCE[0]}")/../checks/common.sh"
archive=$1 hip_program=$2 saxpy=$3
[ "$(id -u)" = 0 ] || { echo "this needs root: it makes systems to change the root to"; exit 1; }
# Mounts belong to this script's namespace and end with it.
[ -n "${RIGEL_OWN_MOUNTS-}" ] || RIGEL_OWN_MOUNTS=1 exec unshare --mount "$0" "$@"
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
roots=${RIGEL_PORTABLE_ROOTS:-$scratch}
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
name=$(basename "$archive" .tar.zst)

check_in() {  # <suite> <version of HIP> <package>...
  local suite=$1 hip=$2 system=$roots/$1
  shift 2
  if [ ! -e "$system/etc/os-release" ]; then
    mmdebstrap --variant=minbase --mode=root --aptopt='Acquire::Check-Valid-Until "false"' --include="$(IFS=,; echo "$*")" \
      "$suite" "$system" "deb [trusted=yes] $mirror $suite main" >"$scratch/$suite.log" 2>&1 ||
      { tail -n 20 "$scratch/$suite.log"; complain "$suite: no system could be made"; return; }
  fi
  mkdir -p "$system"/{proc,sys,dev/shm,opt}
  for place in proc sys; do mount --rbind "/$place" "$system/$place"; done
  mount -t tmpfs tmpfs "$system/dev/shm"
  rm -rf "$system/opt/$name"
  zstd -qdc "$archive" | tar -x -C "$system/opt"
  cp "$hip_program" "$system/opt/hip_program"
  cp "$saxpy" "$(dirname "$saxpy")/saxpy_kernels.hsaco" "$system/opt/"
  run() { chroot "$system" /usr/bin/env -i HOME=/root PATH="/opt/$name/bin:/usr/bin:/bin" LC_ALL=C "$@" 2>&1; }
  expect "$(run vgpu-run --version)" 'LLVM 19' "$suite: the kernel compiler"
  expect "$(run vgpu-run --gpu gfx906,gfx1030 rigel-info --summary)" '^2 +GPU +gfx1030' "$suite: rigel-info"
  expect "$(run vgpu-run --gpu gfx906 rocminfo)" 'Name: +gfx906' "$suite: rocminfo"
  expect "$(run vgpu-run --gpu gfx906 --runtime system rocminfo)" 'Name: +gfx906' "$suite: rocminfo with the system's ROCr"
  expect "$(run vgpu-run --gpu gfx900 /opt/saxpy)" '; 0 elements are wrong$' "$suite: an HSA program"
  rm -rf "$system/opt/cache"
  expect "$(run VGPU_CACHE=/opt/cache vgpu-compiler --warm /opt/saxpy_kernels.hsaco)" '^2 compiled, ' "$suite: compiling"
  expect "$(run VGPU_CACHE=/opt/cache vgpu-run --gpu gfx900 --log dispatch /opt/saxpy)" ': compiled, from the cache$' \
    "$suite: a compiled kernel"
  expect "$(run vgpu-run --gpu gfx900 /opt/saxpy --bug)" '^  kernel +saxpy_with_a_bug' "$suite: a report"
  if [ "$suite" = sid ]; then
    expect "$(run vgpu-run --gpu gfx1030 /usr/libexec/rocm/librocrand1-tests/test_rocrand_basic)" '\[  PASSED  \]' "$suite: HIP $hip"
  else
    expect "$(run vgpu-run --gpu gfx900 /opt/hip_program)" 'expected 5|PASSED' "$suite: HIP $hip"
  fi
  # A program that needs the system's zlib gets it, also if the archive's directory is searched first.
  expect "$(run "LD_LIBRARY_PATH=/opt/$name/lib" ldd /usr/bin/dpkg-deb)" 'libz\.so\.1 => /(usr/)?lib/' "$suite: LD_LIBRARY_PATH"
  umount -l "$system/dev/shm" "$system/proc" "$system/sys"
}
check_in bookworm 5.2 rocminfo libhsa-runtime64-1 libamdhip64-5
check_in trixie 5.7 rocminfo libhsa-runtime64-1 libamdhip64-5
check_in sid 6.4 rocminfo libhsa-runtime64-1 libamdhip64-6 librocrand1-tests
[ "$failures" != 0 ] || echo "Used in Debian 12, 13 and unstable."
finish
