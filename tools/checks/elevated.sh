#!/usr/bin/env bash
# elevated.sh <library directory> <manifest directory> <source of the program> <headers>
# A set-uid program loads no code from locations that its caller chooses or can write. Needs root, to create
# such a program.
. "$(dirname "$0")/common.sh"
libdir=$1 manifests=$2 source=$3 headers=$4

[ "$(id -u)" = 0 ] || skip "only root can make a set-uid program that runs for somebody else"
command -v setpriv >/dev/null || skip "no setpriv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
[ -n "$(find "$work" -maxdepth 0 -uid 0)" ] || skip "files made here are not root's"
! findmnt -no OPTIONS -T "$work" | grep -qw nosuid || skip "$work is mounted nosuid"

# The runtime, owned by root, in the installed layout.
lib=$work/own/$(basename "$libdir")
mkdir -p "$lib" "$work/own/share/hsa" "$work/mine"
cp -P "$libdir"/libhsa-runtime64.so* "$lib/"
cp -r "$libdir/hsa" "$lib/"
cp -r "$manifests" "$work/own/share/hsa/backends.d"
# Backends for GPUs would use this machine's; the CPU backend is enough.
find "$work/own/share/hsa/backends.d" -type f ! -name '*cpu*' -delete
chmod -R u=rwX,go=rX "$work/own"

# A module of another user that leaves a trace when it is opened.
cat >"$work/trap.c" <<END
#include <fcntl.h>
__attribute__((constructor)) static void spring(void) { open("$work/mine/sprung", O_CREAT | O_WRONLY, 0666); }
__attribute__((visibility("default"))) const void* hsa_backend_query_v1(const void* host) { (void)host; return 0; }
END
cc -shared -fPIC -o "$work/mine/trap.so" "$work/trap.c"
sed -e 's/"name": *"cpu"/"name": "trap"/' -e "s:\"library\"\\: *\"[^\"]*\":\"library\"\\: \"$work/mine/trap.so\":" \
  -e 's/"priority": *100/"priority": 900/' "$manifests/50-cpu.json" >"$work/mine/trap.json"
cc -I"$headers" -o "$work/plain" "$source" -L"$lib" -Wl,-rpath,"$lib" -lhsa-runtime64
cp "$work/plain" "$work/elevated"
chmod 4755 "$work/elevated"
chown -R 65534:65534 "$work/mine"

as_somebody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HSA_PLUGIN_CONFIG=none HOME=/nonexistent "$@" 2>&1; }
sprung() { [ -e "$work/mine/sprung" ]; }

seen=$(as_somebody HSA_ADD_BACKEND_MANIFESTS="$work/mine" "$work/plain") || complain "the plain program fails: $seen"
sprung || complain "a plain program does not open what its caller names: $seen"
rm -f "$work/mine/sprung"

seen=$(as_somebody HSA_ADD_BACKEND_MANIFESTS="$work/mine" "$work/elevated") || complain "the set-uid program fails: $seen"
! sprung || complain "a set-uid program opened its caller's module: $seen"
expect "$seen" 'HSA_ADD_BACKEND_MANIFESTS.* ignored because this process has elevated privileges' "a set-uid program"
expect "$seen" '^agent 0: CPU' "a set-uid program"

# A module in a system directory that another user owns or can write.
for spoil in "chown 65534" "chmod o+w"; do
  module=$lib/hsa/backends/libhsa_backend_cpu.so
  $spoil "$module"
  seen=$(as_somebody "$work/elevated" || true)
  expect_not "$seen" '^agent' "a set-uid program whose backend is spoilt ($spoil)"
  chown root "$module"; chmod 755 "$module"
done
finish
