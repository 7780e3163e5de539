#!/bin/sh
# generate_kernels.sh big|many: prints C++ sources of code objects that are costly to load.
case $1 in
  big)  # ten megabytes of data that a kernel uses
    echo 'extern "C" __attribute__((visibility("protected"))) unsigned data[2500000] = {1};'
    echo 'extern "C" __attribute__((amdgpu_kernel, visibility("protected"))) void kernel_0(unsigned* out) { *out = data[*out]; }' ;;
  many)  # a thousand kernels
    i=0
    while [ $i -lt 1000 ]; do
      echo "extern \"C\" __attribute__((amdgpu_kernel, visibility(\"protected\"))) void kernel_$i(unsigned* out) { *out += $i; }"
      i=$((i + 1))
    done ;;
esac
