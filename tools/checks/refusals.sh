#!/usr/bin/env bash
# refusals.sh <directory of the library> <rigel-info>
# If an explicitly requested feature is not available, hsa_init fails and the first message names it. A
# library without its backends does not start either.
. "$(dirname "$0")/common.sh"
libdir=$1 info=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HSA_DRIVER HSA_PLUGIN_CONFIG HSA_BACKENDS_DISABLE HSA_BACKENDS_SELECT VGPU_GPUS VGPU_LINK
export LD_LIBRARY_PATH=$libdir XDG_CONFIG_HOME=$work

# refused <subject> <pattern of the first line> <pattern of the last> <variable>...
refused() {
  local what=$1 first=$2 last=$3 said code=0
  shift 3
  said=$(env "$@" "$info" --summary 2>&1) || code=$?
  [ "$code" = 1 ] || complain "$what: exit code $code"
  expect "$(head -n 1 <<<"$said")" "$first" "$what, first"
  expect "$(tail -n 1 <<<"$said")" "$last" "$what, last"
}
configure() { printf '{"config_version": "1.0", "driver": {"library": "libhsa_driver_vgpu.so", "config": %s}}' "$1" >"$work/c.json"; }

if [ -e "$libdir/hsa/drivers/libhsa_driver_vgpu.so" ]; then
  configure '{"gpus": ["gfx803", "gfx906"], "link": "xgm", "gpsu": ""}'
  refused "options" '^rigel: error: .*/c\.json: /driver/config/gpus: should be a string but is array; did you mean "gfx803,gfx906"\?' \
    'HSA_STATUS_ERROR_INVALID_FILE' "HSA_PLUGIN_CONFIG=$work/c.json"
  said=$(HSA_LOADER_DEBUG=none HSA_PLUGIN_CONFIG=$work/c.json "$info" --report 2>&1) && complain "a report, with options that are wrong"
  expect_not "$said" 'driver/config' "the log is off"
  said=$(HSA_PLUGIN_CONFIG=$work/c.json "$info" 2>&1) || true
  expect "$said" "/driver/config/gpsu: unknown key; did you mean 'gpus'\?" "the other errors"
  expect "$said" "/driver/config/link: unknown link 'xgm'; did you mean 'xgmi'\?" "the other errors"
  printf '{"config_version": "1.0", "log": {"level": 7}, "driver": {"library": "libhsa_driver_vgpu.so",
    "config": {"gpus": "gfx90O"}}, "plugins": [
    {"name": "t", "library": "libhsa_tool_trace.so", "config": {"file": ["a"], "flush_m": 1}},
    {"name": "v", "library": "libhsa_tool_validate.so", "config": {"off": "203"}},
    {"name": "r", "library": "libr.so", "abi": "hsa_tools", "config": {"table": "rocm6"}}]}' >"$work/c.json"
  said=$(HSA_PLUGIN_CONFIG=$work/c.json "$info" 2>&1) && complain "a file with mistakes of all kinds is taken"
  for mistake in '/log/level: should be a string but is number' \
    '/plugins/0/config/file: should be a string but is array; did you mean "a"\?' \
    "/plugins/0/config/flush_m: unknown key; did you mean 'flush_ms'\?" \
    '/plugins/1/config/off: should be an array but is string; did you mean \["203"\]\?' \
    "/plugins/2/config/table: should be 'either' or 'rocm5' or 'rocm5.5' or 'current' but is 'rocm6'" \
    "/driver/config/gpus: unknown board 'gfx90O'; did you mean 'gfx900'\?" HSA_STATUS_ERROR_INVALID_FILE; do
    expect "$said" "$mistake" "mistakes of all kinds"
  done
  refused "a variable" "VGPU_GPUS: unknown board 'gfx90O'; did you mean 'gfx900'\?" 'hsa_init: HSA_STATUS_ERROR' \
    HSA_DRIVER=libhsa_driver_vgpu.so VGPU_GPUS=gfx90O
  refused "a variable of seconds" "VGPU_WATCHDOG: invalid value 'soon'; use a number of seconds above 0" 'hsa_init: HSA_STATUS_ERROR' \
    HSA_DRIVER=libhsa_driver_vgpu.so VGPU_WATCHDOG=soon
  code=0
  said=$(LD_PRELOAD=$libdir/libvgpu_preload.so VGPU_GPUS=gfx90O "$info" 2>&1) || code=$?
  [ "$code" = 2 ] || complain "a variable with the driver preloaded: exit code $code"
  expect "$(head -n 1 <<<"$said")" "^vgpu: error: VGPU_GPUS: unknown board 'gfx90O'; did you mean 'gfx900'\?" "with the driver preloaded"
  configure '{"gpus": "gfx906,gfx1030"}'
  expect "$(HSA_PLUGIN_CONFIG=$work/c.json "$info" --summary)" '^2 +GPU +gfx1030 ' "the GPUs, with an option that is right"
fi
refused "a driver that is not there" 'libhsa_driver_none\.so.*No such file' 'hsa_init: HSA_STATUS_ERROR' \
  HSA_DRIVER=libhsa_driver_none.so

mkdir "$work/alone"
cp -L "$libdir/libhsa-runtime64.so.1" "$work/alone"
alone=$(LD_LIBRARY_PATH=$work/alone "$info" --summary 2>&1) && complain "the library alone starts"
expect "$alone" "hsa_init: there is no agent: no backend was found \(the manifests belong in $work/share/hsa/backends.d\); set HSA_LOADER_DEBUG=all" "the library alone"
expect "$alone" 'hsa_init: HSA_STATUS_ERROR_OUT_OF_RESOURCES' "the library alone"
refused "all backends disabled" '^rigel: warning: .*: no backend opened it' 'HSA_STATUS_ERROR_OUT_OF_RESOURCES' 'HSA_BACKENDS_DISABLE=*'
left_out() { env "$1" "$info" --summary 2>&1 || true; }
expect "$(left_out 'HSA_BACKENDS_DISABLE=*')" \
  "there is no agent: no backend is permitted \(.*: disabled by '\*' in HSA_BACKENDS_DISABLE\)" "all backends disabled"
expect "$(left_out HSA_BACKENDS_SELECT=none)" \
  'there is no agent: no backend is permitted \(.*: not selected by HSA_BACKENDS_SELECT\)' "no backend selected"

# Errors in the configuration file's log settings are reported.
printf '{"config_version": "1.0", "log": {"level": "wran"}}' >"$work/c.json"
expect "$(HSA_PLUGIN_CONFIG=$work/c.json "$info" --summary 2>&1)" "^rigel: warning: $work/c\.json: /log/level: unknown level or topic 'wran'; use " "the log's level"

# A bare library name does not find a library in the working directory.
echo nothing >"$work/libhsa_driver_none.so"
said=$(cd "$work" && HSA_DRIVER=libhsa_driver_none.so "$info" --summary 2>&1) && complain "a driver of the working directory is taken"
expect "$said" 'hsa/drivers/libhsa_driver_none\.so: No such file' "a driver of the working directory"
finish
