#!/usr/bin/env bash
# elevated_tools.sh <library directory> <manifest directory> <source of the program> <headers>
# A set-uid program gets only tools of the system's configuration that only root can write. Runs in a separate
# root directory with its own /etc/hsa and library path. Needs root.
. "$(dirname "$0")/common.sh"
libdir=$1 manifests=$2 source=$3 headers=$4

[ "$(id -u)" = 0 ] || skip "only root can make a set-uid program that runs for somebody else"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
[ -n "$(find "$work" -maxdepth 0 -uid 0)" ] || skip "files made here are not root's"
! findmnt -no OPTIONS -T "$work" | grep -qw nosuid || skip "$work is mounted nosuid"
root=$work/root
mkdir -p "$root"/{etc/hsa,own,mine,lib,rigel/lib,rigel/share/hsa/backends.d}
cp -P "$libdir"/libhsa-runtime64.so* "$root/rigel/lib/"
mkdir -p "$root/rigel/lib/hsa/backends"
cp "$libdir/hsa/backends/libhsa_backend_cpu.so" "$root/rigel/lib/hsa/backends/"
cp "$manifests/50-cpu.json" "$root/rigel/share/hsa/backends.d/"

# A tool of either ABI that prints its name when it is opened and when it receives the tables.
cat >"$work/tool.c" <<'END'
#include <stdio.h>
#define SHOWN __attribute__((visibility("default")))
__attribute__((constructor)) static void open_it(void) { fputs(NAME " is opened\n", stderr); }
SHOWN _Bool OnLoad(void) { fputs(NAME " is loaded\n", stderr); return 1; }
SHOWN const void* hsa_tool_query_v1(unsigned major, unsigned minor) { (void)major; (void)minor; return 0; }
SHOWN int rocprofiler_register_library_api_table(void) { return 1; }
#ifdef PRIORITY
SHOWN const unsigned HSA_AMD_TOOL_PRIORITY = 5;
#endif
END
tool() { cc -shared -fPIC -DNAME="\"$1\"" "${@:3}" -o "$root/$2" "$work/tool.c"; }
tool own own/libown.so
tool mine mine/libmine.so
tool register lib/librocprofiler-register.so.0
tool own_linked own/libown_linked.so -DPRIORITY
tool my_linked mine/libmy_linked.so -DPRIORITY

cc -I"$headers" -o "$root/plain" "$source" -L"$root/rigel/lib" -Wl,-rpath,/rigel/lib -lhsa-runtime64 \
  -Wl,--no-as-needed -L"$root/own" -L"$root/mine" -Wl,-rpath,/own:/mine -lown_linked -lmy_linked
cp "$root/plain" "$root/elevated"
for file in "$libdir/libhsa-runtime64.so.1" "$libdir/hsa/backends/libhsa_backend_cpu.so" /bin/true; do
  for needed in $(ldd "$file" | grep -oE '/[^ ]+'); do
    [[ $needed = "$libdir"/* ]] || install -D -m 755 "$needed" "$root$needed"
  done
done
chmod -R u=rwX,go=rX "$root"
chmod 4755 "$root/elevated"
chown -R 65534:65534 "$root/mine"

as_somebody() { chroot --userspec=65534:65534 --groups= "$root" "$@" 2>&1; }
in_environment() { HSA_TOOLS_LIB=/mine/libmine.so HSA_PLUGIN_CONFIG=none as_somebody "$@"; }
config() {
  local separator='' library
  printf '{"config_version": "1.0", "plugins": ['
  for library in "$@"; do
    printf '%s{"name": "%s as hsa_tools", "abi": "hsa_tools", "library": "%s"}, {"name": "%s as rigel", "library": "%s"}' \
      "$separator" "$library" "$library" "$library" "$library"
    separator=', '
  done
  printf ']}\n'
}
config /own/libown.so /mine/libmine.so >"$root/etc/hsa/runtime.json"
config /mine/libmine.so >"$root/mine/runtime.json"

# A normal program belongs to its caller, who may name any tool.
seen=$(in_environment /plain) || complain "the plain program fails: $seen"
for tool in mine own_linked my_linked; do expect "$seen" "^$tool is loaded" "a plain program"; done
expect "$seen" '^register is opened' "a plain program"
seen=$(HSA_PLUGIN_CONFIG=/mine/runtime.json as_somebody /plain) || complain "the plain program fails: $seen"
expect "$seen" '^mine is loaded' "a plain program with a configuration"

seen=$(in_environment /elevated) || complain "the set-uid program fails: $seen"
expect "$seen" 'HSA_TOOLS_LIB: ignored because this process has elevated privileges' "a set-uid program"
expect_not "$seen" '^mine is|^register is|^my_linked is loaded' "a set-uid program"
expect "$seen" '^own_linked is loaded' "a set-uid program"
expect "$seen" '/mine/libmy_linked.so belongs to user 65534, not to root' "a set-uid program"

# The system's configuration replaces the caller's.
seen=$(HSA_PLUGIN_CONFIG=/mine/runtime.json as_somebody /elevated) || complain "the set-uid program fails: $seen"
expect "$seen" 'HSA_PLUGIN_CONFIG ignored because this process has elevated privileges' "a set-uid program with a configuration"
expect "$seen" '^own is loaded' "a set-uid program with a configuration"
expect_not "$seen" '^mine is' "a set-uid program with a configuration"
for abi in hsa_tools rigel; do
  expect "$seen" "/mine/libmine.so as $abi: .*belongs to user 65534, not to root" "a set-uid program with a configuration"
done

# Files that another user can write.
chmod g+w "$root/own/libown.so"
expect_not "$(as_somebody /elevated)" '^own is' "a set-uid program whose tool is writable"
chmod g-w "$root/own/libown.so"
chown 65534 "$root/own"
expect_not "$(as_somebody /elevated)" '^own is' "a set-uid program whose tool's folder is somebody's"
chown root "$root/own"
chown 65534 "$root/etc/hsa/runtime.json"
! as_somebody /elevated >/dev/null || complain "a set-uid program believes a configuration that is somebody's"
finish
