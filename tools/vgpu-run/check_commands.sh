#!/usr/bin/env bash
# check_commands.sh <vgpu-run> <rigel-info> <docs/start/ci.md>
# Checks functions of vgpu-run other than the GPU: selecting a runtime, listing boards, printing variables.
. "$(dirname "$0")/../checks/common.sh"
run=$1 info=$2 recipes=$3
unset VGPU_RUNTIME VGPU_GPUS VGPU_LINK VGPU_BOARD_PATH LD_PRELOAD LD_LIBRARY_PATH HSA_DRIVER
libdir=$(cd "$(dirname "$(ldd "$info" | sed -n 's/.*libhsa-runtime64\.so\.1 => \([^ ]*\).*/\1/p')")" && pwd -P)

expect "$("$run" --version)" '^vgpu-run [0-9]+\.[0-9]+\.[0-9]+$' "the version"
expect "$("$run" --version)" '^(kernel compiler: LLVM [0-9.]+|kernels are interpreted: .*install rigel-vgpu-compiler, or clang-19.*)$' "the kernel compiler"
expect "$(VGPU_COMPILER=off "$run" --version)" '^kernels are interpreted: VGPU_COMPILER=off$' "no kernel compiler"
expect "$("$run" --list)" '^vega20 +gfx906 ' "the boards"
expect "$("$run" --list)" '^rx6800 +gfx1030 +navi21 .*\(rx6800\)$' "the boards' chips and products"
for option in --gpu --link --log --log-file --runtime --watchdog --list --env --help --version --fidelity \
  --check-output --check-log --check-suppressions --check-kernel --check-launch --check-children --check-limit --error-exitcode \
  --padding --quarantine --profile-against --profile-kernel --profile-launch --profile-queue; do
  expect "$("$run" --help)" "^  $option " "the help"
done
expect "$("$run" --help)" "^  --check\\[=LIST\\] " "the help"
expect "$("$run" --help)" "^  --run-fidelity\\[=LIST\\]$" "the help"
expect "$("$run" --help)" "^  --require exact " "the help"
refused() {  # <pattern> <argument>...
  local pattern=$1 said code=0
  shift
  said=$("$run" "$@" 2>&1) || code=$?
  [ "$code" = 2 ] || complain "vgpu-run $*: exit code $code"
  expect "$said" "^vgpu-run: error: .*$pattern" "vgpu-run $*"
}
refused "did you mean 'gfx906'" --gpu gfx916 true
refused "no board is named; use" --gpu '' true
refused "did you mean 'xgmi'" --gpu gfx916 --link xgm true  # all errors
refused "did you mean 'gfx906'" --gpu gfx916 --link xgm true  # are reported at once
refused "--watchdog: invalid value 'soon'; use a number of seconds" --watchdog soon true
refused "no board is named; use" --gpu= true
refused "unknown runtime 'rocr'; use rigel, system or a path" --runtime rocr true
refused 'no such file' --runtime /no/such/folder true
refused '--runtime: missing value' --runtime
VGPU_RUNTIME=rocr refused 'rigel, system or a path' true
VGPU_GPUS=gfx916 refused "VGPU_GPUS: .*did you mean 'gfx906'" true
VGPU_LINK=xgm refused "VGPU_LINK: .*did you mean 'xgmi'" true
VGPU_WATCHDOG=soon refused "VGPU_WATCHDOG: invalid value 'soon'; use a number of seconds" true
VGPU_WATCHDOG=-1 refused "VGPU_WATCHDOG: invalid value '-1'; use a number of seconds" --env
refused "unknown check 'race'; did you mean 'races'" --check=race true
refused "--check-output: invalid value 'xml'; use text, json or sarif" --check-output xml true
refused "--check-launch: invalid value '0'; use launches from 1 such as 3, 5-8 or 10-" --check-launch 3,0 true
refused "--check-children: invalid value 'some'; use yes or no" --check-children some true
refused "--profile: '.*a.xml': unknown format" --profile=a.xml true
refused "--profile-launch: invalid value 'x'; use numbers such as 3, 5-8 or 10-" --profile-launch 3,x true
refused "--profile-queue: invalid value '5-3'" --profile-queue 5-3 true
refused "--profile-against: '/no/such/file': No such file" --profile-against /no/such/file true
refused "--profile-memory: invalid value 'yes'; use 0 or 1" --profile-memory=yes true
refused "--run-fidelity: '.*a.xml': unknown format" --run-fidelity=a.xml true
refused "--require: invalid value 'all'; use exact" --require all true
refused "--error-exitcode: invalid value '256'; use a number from 0 to 255" --error-exitcode 256 true
refused "--padding: invalid value '4K'; use a number from 0 to " --padding=4K true
VGPU_CHECK_LIMIT=0 refused "VGPU_CHECK_LIMIT: invalid value '0'; use a number from 1 to 1000000" true
suppressions=$(mktemp)
printf '# comment\nrace: *\n\nsync: f at\n' >"$suppressions"
refused "--check-suppressions: $suppressions:2: unknown check 'race'; did you mean 'races'" --check-suppressions "$suppressions" true
refused "--check-suppressions: $suppressions:4: the place after 'at' is missing" --check-suppressions "$suppressions" true
VGPU_CHECK_SUPPRESSIONS=$suppressions refused "VGPU_CHECK_SUPPRESSIONS: $suppressions:2: " true
refused '/no/such/file: cannot read: No such file' --check-suppressions /no/such/file true
rm "$suppressions"
refused '--watchdog: empty value; use a number of seconds' --watchdog= true
refused '--log-file: empty value' --log-file '' true
refused '/tmp: cannot read: not a regular file' --gpu /tmp true
refused "unknown option '--gpus'; did you mean '--gpu'" --gpus gfx900 true
refused "unknown option '--nonsense'; use vgpu-run --help" --nonsense true
for option in --help --version --list --fidelity --env; do
  code=0
  said=$("$run" $option 2>&1 >/dev/full) || code=$?
  [ "$code" = 1 ] || complain "vgpu-run $option into what is full: exit code $code"
  expect "$said" '^vgpu-run: error: standard output: cannot write: No space left' "$option into what is full"
done
if unshare -rm true 2>/dev/null; then  # a system without /proc
  said=$(unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$0" true' "$run" 2>&1) || true
  expect "$said" '^vgpu-run: error: /proc/self/exe: cannot read: ' "without /proc"
fi

# Children in another working directory find the files.
elsewhere=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$elsewhere"' EXIT
cp "$(dirname "$0")/../../plugins/vgpu/devices/fiji.json" "$elsewhere/mine.json"
here() { (cd "$elsewhere" && "$@"); }
shows() { "$@" sh -c 'cd / && echo "$VGPU_GPUS, $VGPU_LINK, $VGPU_BOARD_PATH"'; }
expect "$(here shows "$run" --gpu ./mine.json:vram=1G,vega20)" "^$elsewhere/\./mine.json:vram=1G,vega20, pcie, $" "a board's file"
expect "$(here shows env VGPU_BOARD_PATH=.:/none "$run")" "^gfx900, pcie, $elsewhere/\.:/none$" "folders of boards"
variables=$(here env VGPU_BOARD_PATH=/none "$run" --env --gpu mine.json)
expect "$variables" "^VGPU_GPUS=$elsewhere/mine.json$" "a board's variable"
expect "$variables" "^VGPU_BOARD_PATH=/none$" "the variable of the folders of boards"

# A SARIF file is valid without a process that uses a GPU, and starts anew.
for _ in 1 2; do "$run" --check --check-output sarif --check-log "$elsewhere/check.sarif" true; done
expect "$(tr -d '\n ' <"$elsewhere/check.sarif")" '"runs":\[\],"version":"2\.1\.0"' "an empty SARIF file"

# Variables are the defaults of options.
expect "$(shows env VGPU_GPUS=fiji,vega20 VGPU_LINK=xgmi "$run")" '^fiji,vega20, xgmi, $' "variables"
expect "$(shows env VGPU_GPUS=fiji VGPU_LINK=xgmi "$run" --gpu navi21 --link none)" '^navi21, none, $' "options before variables"
expect "$(env VGPU_GPUS=fiji VGPU_LINK=xgmi "$run" --env --gpu gfx900 --link pcie)" '^VGPU_GPUS=gfx900$' "a default in place of a variable"
expect "$(env VGPU_GPUS=fiji VGPU_LINK=xgmi "$run" --env --gpu gfx900 --link pcie)" '^VGPU_LINK=pcie$' "a default in place of a variable"

# In a directory whose name the dynamic linker cannot read, vgpu-run fails instead of running the program
# without a GPU.
libraries=${libdir#"$(cd "$(dirname "$run")/.." && pwd -P)/"}
for name in 'a b' 'a:b'; do
  tree=$elsewhere/$name
  mkdir -p "$tree/bin" "$tree/$libraries"
  cp "$run" "$tree/bin/"
  ln -s "$libdir/libvgpu_preload.so" "$tree/$libraries/"
  for option in true --env; do
    code=0
    said=$("$tree/bin/vgpu-run" --runtime system $option 2>&1) || code=$?
    [ "$code" = 2 ] || complain "$name: exit code $code"
    expect "$said" 'the dynamic linker ends names in LD_PRELOAD at ' "$name"
  done
done

# The dynamic linker reports which library a program loads.
program=$(command -v rocminfo) || skip "rocminfo is not installed"
used() { "$@" ldd "$program" | sed -n 's/.*libhsa-runtime64\.so\.1 => \([^ ]*\).*/\1/p'; }
found=$(used env)
[ "$(used "$run")" = "$libdir/libhsa-runtime64.so.1" ] || complain "by default: $(used "$run")"
[ "$(used "$run" --runtime rigel)" = "$libdir/libhsa-runtime64.so.1" ] || complain "rigel: $(used "$run" --runtime rigel)"
[ "$(used "$run" --runtime system)" = "$found" ] || complain "system: $(used "$run" --runtime system)"
[ "$(used env VGPU_RUNTIME=system "$run")" = "$found" ] || complain "VGPU_RUNTIME=system: $(used env VGPU_RUNTIME=system "$run")"
there=$(cd "$(dirname "$found")" && pwd -P)
[ "$(used "$run" --runtime "$there")" = "$there/libhsa-runtime64.so.1" ] || complain "a folder: $(used "$run" --runtime "$there")"
[ "$(used env VGPU_RUNTIME=system "$run" --runtime rigel)" = "$libdir/libhsa-runtime64.so.1" ] ||
  complain "the option does not come before the variable"

# The printed variables have the command's effect on every program of a shell.
expect "$("$run" --env | wc -l)" '^1$' "one variable is enough"
expect "$("$run" --env --gpu fiji,navi21 --link xgmi)" '^VGPU_GPUS=fiji,navi21$' "the boards' variable"
with() { local option=$1; shift; env $("$run" --env $option) sh -c "$*"; }
expect "$(with '' rocminfo 2>&1)" 'Name: +gfx900' "rocminfo with one variable"
expect "$(with '' "$info")" '^Agent 1: GPU ' "rigel-info with one variable"
expect "$(with '--gpu fiji,navi21' "$info --summary")" '^2 +GPU +gfx1030 ' "rigel-info with the boards' variable"
expect "$(with '' ldd "$program")" "$libdir/libhsa-runtime64.so.1" "whose runtime it is"
expect_not "$(with '--runtime system' ldd "$program")" "$libdir/libhsa-runtime64.so.1" "whose runtime it is"

# The CI recipes do the same, as written.
github=$(sed -n 's/^- run: \(vgpu-run --env .*\)$/\1/p' "$recipes")
gitlab=$(sed -n "s/^before_script: \[ '\(.*\)' \]$/\1/p" "$recipes")
[ -n "$github" ] && [ -n "$gitlab" ] || complain "$recipes has no recipe for GitHub or GitLab"
job=$(mktemp -d)
trap 'rm -rf "$elsewhere" "$job"' EXIT
(cd "$job" && PATH=$(dirname "$run"):$PATH GITHUB_ENV=$job/variables bash -e -c "$github")
mapfile -t variables <"$job/variables"
expect "$(env "${variables[@]}" rocminfo 2>&1)" 'Name: +gfx1030' "GitHub's next step"
expect "$(PATH=$(dirname "$run"):$PATH sh -e -c "$gitlab; rocminfo" 2>&1)" 'Name: +gfx1030' "GitLab's script"

# Completion, as bash requests it.
completions=/usr/share/bash-completion/bash_completion
[ -e "$completions" ] || { finish; exit 0; }
complete_words() {  # <word>...: completions of the last word
  PATH=$(dirname "$run"):$PATH bash -c '
    . "$0"; . "$1"; shift
    COMP_WORDS=(vgpu-run "$@"); COMP_CWORD=$#; COMP_LINE="vgpu-run $*"; COMP_POINT=${#COMP_LINE}
    _vgpu_run vgpu-run "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' "$completions" "$(dirname "$0")/completion.bash" "$@"
}
expect "$(complete_words --ru)" '^--runtime' "options"
expect "$(complete_words --gpu veg)" '^vega20' "boards"
expect "$(complete_words --gpu fiji,gfx103)" '^fiji,gfx1030' "more boards"
expect "$(complete_words --runtime sy)" '^system' "runtimes"
expect "$(complete_words --gpu fiji rocmin)" '^rocminfo' "programs"
finish
