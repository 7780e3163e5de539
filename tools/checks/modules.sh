#!/usr/bin/env bash
# modules.sh <libhsa-runtime64.so> <folder of backends>
# What a module needs is loaded into every program that uses HSA, so the list is short. A backend exports its query and
# links neither the runtime nor another module.
. "$(dirname "$0")/common.sh"
library=$1 folder=$2

needed() { readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
allowed() {  # <file> <pattern>
  local other
  other=$(needed "$1" | grep -vxE "$2" || true)
  [ -z "$other" ] || complain "$1 needs $other"
}

system='lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt)\.so\.[0-9]+|ld-linux.*\.so\.[0-9]+'
allowed "$library" "$system|libelf\.so\.1|libdrm(_amdgpu)?\.so\.[0-9]+|libzstd\.so\.1"
readelf --dynamic --wide "$library" | grep 'SONAME.*\[libhsa-runtime64.so.1\]' >/dev/null || complain "$library: SONAME"

shopt -s nullglob
modules=("$folder"/*.so)
[ ${#modules[@]} -gt 0 ] || complain "no backend in $folder"
for module in "${modules[@]}"; do
  allowed "$module" "$system"
  exported=$(readelf --dyn-syms --wide "$module" | awk '$5 ~ /GLOBAL|WEAK/ && $7 != "UND" && NF >= 8 { print $8 }')
  [ "$exported" = hsa_backend_query_v1 ] || complain "$module exports: $exported"
  runtime=$(readelf --dyn-syms --wide "$module" | awk '$7 == "UND" { print $8 }' | grep '^hsa_' || true)
  [ -z "$runtime" ] || complain "$module uses functions of the runtime: $runtime"
done

# What each thread has of its own, of a module that is loaded late, has to fit into what glibc keeps for such modules: with more the
# module cannot be loaded at all.
for file in "$library" "${modules[@]}" "$(dirname "$folder")"/drivers/*.so; do
  size=$(readelf --segments --wide "$file" | awk '$1 == "TLS" { print $6 }')
  [ "$((size))" -le 1536 ] || complain "$file has $((size)) bytes of each thread's own"
done

# No constructors or destructors of ours: the runtime lives in other people's processes. What is in .init_array and
# .fini_array comes from the compiler's start files: one entry each.
for file in "$library" "${modules[@]}"; do
  for section in .init_array .fini_array; do
    size=$(readelf --sections --wide "$file" | awk -v s="$section" '{ for (i = 1; i < NF; ++i) if ($i == s) print $(i + 4) }')
    [ "$((16#${size:-0}))" -le 8 ] || complain "$file has $((16#$size / 8)) entries in $section"
  done
done
finish
