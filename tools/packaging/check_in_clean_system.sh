#!/usr/bin/env bash
# check_in_clean_system.sh <directory of packages> <list_agents.c> <docs/start/ci.md>
# Installs the packages next to Debian's ROCr in a Debian 12 that debootstrap creates, and checks what users
# do: programs on the virtual GPU, switching the system's programs to Rigel and back, a program built with
# pkg-config. Then removes the packages and checks for remaining files. Before that, it runs the container
# recipe of the document in a second system, line by line. Root only.
. "$(dirname "${BASH_SOURCE[0]}")/../checks/common.sh"
packages=$1 source=$2 document=$3
base=${RIGEL_PACKAGE_ROOT:-}
[ "$(id -u)" = 0 ] || { echo "this needs root: it makes a system to change the root to"; exit 1; }
# Mounts belong to this script's namespace and end with it.
[ -n "${RIGEL_OWN_MOUNTS-}" ] || RIGEL_OWN_MOUNTS=1 exec unshare --mount "$0" "$@"
scratch=$(mktemp -d)
trap 'umount "$scratch"/{system,container}/{proc,sys,dev/shm} 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT

mirror=$(sed -n 's/^URIs: *\(.*\/debian\) *$/\1/p; s/^deb *\(\[[^]]*\]\)\? *\(http[^ ]*\/debian\)\/\? .*/\2/p' /etc/apt/sources.list \
  /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
[ -n "$base" ] || base=$scratch/base
if [ ! -e "$base/ready" ]; then
  rm -rf "$base"
  # A user's system: ROCr with rocminfo, and a compiler.
  debootstrap --variant=minbase --include=rocminfo,libhsa-runtime64-1,libhsa-runtime-dev,kmod,gcc,libc6-dev,pkg-config \
    bookworm "$base" "${mirror:-http://deb.debian.org/debian}" >"$scratch/debootstrap.log" 2>&1 ||
    { tail -n 20 "$scratch/debootstrap.log"; exit 1; }
  rm -f "$base/etc/apt/sources.list"
  touch "$base/ready"
fi
# Copies it, with the package sources of this system.
make_system() {  # <folder>
  cp -a "$base" "$1"
  mkdir -p "$1/packages" "$1/dev/shm"
  mount -t proc proc "$1/proc"
  mount -t sysfs sysfs "$1/sys"
  mount -t tmpfs tmpfs "$1/dev/shm"
  cp -aT /etc/apt/sources.list.d "$1/etc/apt/sources.list.d" 2>/dev/null || true
  find "$1/etc/apt/sources.list.d" -type f -not -name 'debian*' -delete
  cp /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
}
run_in() {  # <folder> <variable or word>...
  chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "${@:2}" 2>&1
}

# The container: files, copies, commands and variables of the recipe, without a container engine.
container=$scratch/container variables=()
make_system "$container"
recipe=$(sed -n '/^```dockerfile$/,/^```$/{/^```/d;p}' "$document" | sed ':a;/\\$/{N;s/\\\n//;ba}')
while read -r word rest; do
  case $word in
    FROM) expect "$rest" '^debian:bookworm' "the recipe's system" ;;
    COPY)
      to=${rest##* }
      # shellcheck disable=SC2086  # patterns are meant
      (cd "$packages/.." && cp ${rest% *} "$container$to")
      ;;
    RUN) run_in "$container" sh -e -c "$rest" >"$scratch/run.log" || { cat "$scratch/run.log"; complain "RUN $rest"; } ;;
    ENV) read -ra variables <<<"$rest" ;;
    *) complain "the recipe has a line that is not done here: $word $rest" ;;
  esac
done <<<"$recipe"
[ ${#variables[@]} != 0 ] || complain "the recipe sets no variables"
expect "$(run_in "$container" "${variables[@]}" rocminfo)" 'Name: +gfx1030' "rocminfo in the container"
umount "$container"/{proc,sys,dev/shm}
rm -rf --one-file-system "$container"

system=$scratch/system
make_system "$system"
cp "$packages"/*.deb "$source" "$system/packages/"
inside() { chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" 2>&1; }
files() { (cd "$system" && find etc usr var/lib/dpkg/info -not -path '*/ld.so.cache' | sort); }

inside apt-get -qq update >"$scratch/update.log" || { cat "$scratch/update.log"; exit 1; }
files >"$scratch/before"
inside sh -c 'apt-get -qq install -y --no-install-recommends /packages/*.deb' >"$scratch/install.log" ||
  { cat "$scratch/install.log"; exit 1; }

expect "$(inside rigel-info --version)" '^rigel-info [0-9]+\.' "the version"
expect "$(inside rigel-info)" '^Agent 0: CPU' "the CPU"
expect "$(inside rigel-info)" '/usr/lib/rigel/lib/libhsa-runtime64\.so\.1' "whose runtime it is"
for document in rigel/README.md rigel/schemas/backend-manifest.json rigel-dev/examples/backend/sample.cpp; do
  [ -s "$system/usr/share/doc/$document" ] || complain "/usr/share/doc/$document is not there"
done
expect "$(inside vgpu-exec --help)" '^usage: vgpu-exec ' "vgpu-exec"
for command in rigel-info rigel-system vgpu-run vgpu-exec vgpu-compiler; do
  gzip -t "$system/usr/share/man/man1/$command.1.gz" || complain "$command has no manual page"
done

# On the virtual GPU, with either runtime.
expect "$(inside vgpu-run --gpu gfx906,gfx1030 rigel-info --summary)" '^2 +GPU +gfx1030' "rigel-info on the virtual GPU"
shown=$(inside vgpu-run --gpu gfx906,gfx1030 rocminfo) || true
expect "$shown" 'Name: +gfx906' "rocminfo on the virtual GPU"
expect "$shown" 'Name: +gfx1030' "rocminfo on the virtual GPU"
expect "$(inside vgpu-run --gpu gfx906 --runtime system rocminfo)" 'Name: +gfx906' "rocminfo on the virtual GPU and ROCr"
# With the variables of docs/start/ci.md instead of the command.
variable=LD_PRELOAD=/usr/lib/rigel/lib/libvgpu_preload.so:/usr/lib/rigel/lib/libhsa-runtime64.so.1
[ "$(inside vgpu-run --env)" = "$variable" ] || complain "the variables are: $(inside vgpu-run --env)"
expect "$(inside "$variable" rocminfo)" 'Name: +gfx900' "rocminfo with one variable"
expect "$(inside "$variable" VGPU_GPUS=gfx1030 rigel-info --summary)" 'GPU +gfx1030' "rigel-info with two"

# The system is switched to Rigel and back.
program=/packages/list_agents
inside gcc -o "$program" /packages/list_agents.c -lhsa-runtime64 || complain "no program can be built with Debian's headers"
uses() { inside ldd "$program" | sed -n 's/.*libhsa-runtime64\.so\.1 => \([^ ]*\).*/\1/p'; }
expect "$(inside rigel-system)" '^system: ' "before"
expect "$(uses)" '^/(usr/)?lib/x86_64-linux-gnu/' "before"
inside rigel-system on || complain "rigel-system on failed"
expect "$(inside rigel-system)" '^rigel: /usr/lib/rigel/lib/' "on"
expect "$(uses)" '^/usr/lib/rigel/lib/' "on"
expect "$(inside "$program")" '^agent 0: CPU, ' "the program, on"
inside rigel-system off || complain "rigel-system off failed"
expect "$(inside rigel-system)" '^system: ' "off"
expect "$(uses)" '^/(usr/)?lib/x86_64-linux-gnu/' "off"

# Programs built with pkg-config find the library that they were built with.
built=/packages/built
inside sh -c "gcc -o $built /packages/list_agents.c \$(pkg-config --cflags --libs rigel)" || complain "no program can be built with pkg-config"
expect "$(inside ldd $built)" 'libhsa-runtime64\.so\.1 => /usr/lib/rigel/lib/' "a program built with pkg-config"

# Removing the packages while they are selected switches the system back.
inside rigel-system on || complain "rigel-system on failed"
inside apt-get -qq autoremove --purge -y rigel-vgpu-compiler rigel-vgpu rigel-dev rigel >"$scratch/remove.log" ||
  { cat "$scratch/remove.log"; exit 1; }
expect "$(uses)" '^/(usr/)?lib/x86_64-linux-gnu/' "removed"
left=$(diff "$scratch/before" <(files) || true)
[ -z "$left" ] || expect_not "$left" '^[<>]' "what is left of it"
[ "$failures" != 0 ] || echo "Installed, used and removed in a clean system."
finish
