#!/usr/bin/env bash
# Makes those seeds of code_object_fuzz that compilers wrote, which tests read too: usage make_seeds.sh <folder>. Needs
# clang and lld with AMDGPU, and gcc. The other seeds are what libFuzzer found from these, merged with -merge=1.
set -eu
export LC_ALL=C  # sed works on bytes
out=$1
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/gpu.cl" <<'SOURCE'
#define SHARED __attribute__((visibility("default")))
__constant int table[4] = {1, 2, 3, 4};
SHARED global int counter = 7;
SHARED global int zeros[100];
extern SHARED global int outside;
SHARED global int* global pointer = &counter;
kernel void add(global int* a, global const int* b, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i < n) a[i] += b[i] + table[i & 3] + counter + zeros[i];
}
kernel void read_outside(global int* a) { *a = outside + *pointer; }
SOURCE
gpu() {  # name, processor, version
  clang --target=amdgcn-amd-amdhsa -mcpu="$2" -mcode-object-version="$3" -nogpulib -x cl -cl-std=CL2.0 -O2 \
    -Xlinker -s "$work/gpu.cl" -o "$out/$1"
}
gpu gfx803_v2 gfx803 2
gpu gfx900_v3 gfx900:xnack+ 3
gpu gfx90a_v4 gfx90a:sramecc+:xnack- 4
gpu gfx1030_v4 gfx1030 4
# As newer compilers mark them: versions 5 and 6, and a generic processor of revision 1.
sed 's/^\(\x7fELF....\)\x02/\1\x03/' "$out/gfx1030_v4" >"$out/gfx1030_v5"
sed -e 's/^\(\x7fELF....\)\x02/\1\x04/' "$out/gfx90a_v4" >"$out/gfx90a_v6"
printf '\x51\x01\x00\x01' | dd of="$out/gfx90a_v6" bs=1 seek=48 conv=notrunc status=none

cat >"$work/host.c" <<'SOURCE'
extern int outside;
extern int compute(int);
__attribute__((weak)) int maybe(int);
int counter = 7, zeros[100];
int* pointer = &counter;
static int hidden = 1;
static int* to_hidden = &hidden;
void work(int* a) { a[0] = outside + compute(*pointer) + *to_hidden + (maybe ? maybe(zeros[0]) : 0); }
__asm__(".section .rodata; .balign 64; .globl work.kd; .type work.kd,@object; .size work.kd,64; .protected work.kd\n"
        "work.kd: .long 0,0,8,0; .quad work_entry - work.kd; .skip 40; .previous\n"
        ".type work_entry,@function; work_entry: ret");
SOURCE
gcc -shared -fPIC -nostdlib -O2 -s -Wl,-z,max-page-size=256 "$work/host.c" -o "$out/host_x86_64"
