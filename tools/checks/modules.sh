#!/usr/bin/env bash
# modules.sh <libhsa-runtime64.so> <directory of backends>
# Libraries that a module needs are loaded into every HSA program, so only a few are allowed. A backend
# exports its query and links neither the runtime nor another module.
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

# Thread-local data of a module loaded at run time must fit into glibc's reserve for such modules. Otherwise
# the module cannot be loaded.
for file in "$library" "${modules[@]}" "$(dirname "$folder")"/drivers/*.so; do
  size=$(readelf --segments --wide "$file" | awk '$1 == "TLS" { print $6 }')
  [ "$((size))" -le 1536 ] || complain "$file has $((size)) bytes of each thread's own"
done

# No constructors or destructors of this project, because the runtime is loaded into arbitrary processes. The
# compiler's start files have one entry each in .init_array and .fini_array.
for file in "$library" "${modules[@]}"; do
  for section in .init_array .fini_array; do
    size=$(readelf --sections --wide "$file" | awk -v s="$section" '{ for (i = 1; i < NF; ++i) if ($i == s) print $(i + 4) }')
    [ "$((16#${size:-0}))" -le 8 ] || complain "$file has $((16#$size / 8)) entries in $section"
  done
done
finish
