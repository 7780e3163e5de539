#!/usr/bin/env bash
# process_state.sh <libhsa-runtime64.so>
# process_state.txt lists every mutable global of the library with its state in a forked child.
. "$(dirname "$0")/common.sh"
list=$(dirname "$0")/process_state.txt

# Variables of Rigel in writable sections, without the parameters of functions that they are in. Two files may
# have variables of one name. Columns of objdump: value, seven flags, section, size, name.
found=$(objdump --syms --demangle --wide "$1" |
  sed -nE 's/^[0-9a-f]+ .{7} \.(data|bss|tdata|tbss)\s+[0-9a-f]+\s+(\.hidden )?//p' |
  grep -E '^rigel::|^_amdgpu_' | sed -E 's/\((rigel|void)\b.*\)::/()::/' | sort)
[ -n "$found" ] || skip "the library has no symbols"
listed=$(grep -v '^#' "$list" | sed 's/ *|.*//' | sort)
difference=$(diff <(printf '%s\n' "$listed") <(printf '%s\n' "$found") || true)
[ -z "$difference" ] ||
  complain "$list: mutable globals that are listed (<) and in the library (>) differ:"$'\n'"$difference"
unexplained=$(grep -v '^#' "$list" | grep -vE '^[^|]+ \| (reset|held|kept|thread): .+' || true)
[ -z "$unexplained" ] || complain "$list: without a state:"$'\n'"$unexplained"
finish
