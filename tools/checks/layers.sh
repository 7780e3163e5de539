#!/usr/bin/env bash
# layers.sh <root of the sources>
# Checks the directions of includes, and that properties of GPU generations are in one place.
. "$(dirname "$0")/common.sh"
cd "$1"

sources() { find "$@" -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' 2>/dev/null; }
forbid() {  # <who> <pattern of includes> <folder>...
  local who=$1 pattern=$2 found
  shift 2
  found=$(sources "$@" | xargs -r grep -nE "^ *# *include +[\"<]($pattern)" || true)
  [ -z "$found" ] || complain "$who must not see this:"$'\n'"$found"
}
forbid "the loader" 'core/(dispatch|tool|signal|queue|memory|copy|topology|driver|runtime|executable)/|api/entry/|backends/|plugins/' loader
forbid "the core" 'api/entry/|backends/|plugins/' core
forbid "the base" '(core/[^b]|loader/|api/entry/|backends/|plugins/)' core/base
forbid "a backend" '(core|loader|api/entry|plugins)/' backends
# Text from outside is read by one component for all.
forbid "the reading of text" 'core/|loader/[^t]|api/entry/|backends/|plugins/' loader/text
forbid "a plugin" 'core/|loader/[^t]|api/entry/|backends/' plugins
forbid "the public API" '(core|loader|api/entry|backends|plugins|tools)/' api/include
forbid "conformance or a sample" '(core|loader|api/entry|backends|plugins)/' conformance docs/samples
# vgpu-run is the virtual GPU's command: it may use that plugin, and reads user input as the plugin does.
forbid "a tool" 'core/|loader/[^t]|api/entry/|backends/|plugins/[^v]' tools

# Compilers report sanitizers in two ways, and checking only one of them compiles everywhere.
found=$(sources api backends conformance core docs/samples loader plugins tools |
  grep -vx 'api/include/hsa_backend/sanitizer.h' | xargs -r grep -nE '__SANITIZE_|__has_feature' || true)
[ -z "$found" ] || complain "<hsa_backend/sanitizer.h> knows which sanitizer there is, and not this:"$'\n'"$found"

# Comparisons with a gfx version belong to backends and the virtual GPU with its commands, never to the core.
found=$(sources api/entry core loader tools conformance |
  xargs -r grep -nE 'gfx_?(major|minor|stepping|version|target_version)[A-Za-z_]*(\(\))? *([<>]=?|[!=]=)|([<>]=?|[!=]=) *[A-Za-z_.>-]*gfx_?(major|minor|stepping|version)' |
  grep -v '_test\.cpp:' | grep -vE '^(loader/module|tools/vgpu-[a-z]+)/' || true)
[ -z "$found" ] || complain "comparisons with a gfx version:"$'\n'"$found"

# Shader cores, command processors and driver use a chip's table row (isa/traits.hpp, cp/dialect.hpp,
# devices/driver_traits.hpp), not its version. The reference model and generators of test kernels know
# encodings.
found=$(sources plugins/vgpu/exec plugins/vgpu/cp plugins/vgpu/kfd plugins/vgpu/devices |
  xargs -r grep -nE 'Family::k|(target|chip)(\(\))?\.(major|minor|stepping) *[<>=!]=?|gfx_?(major|minor|stepping|target_version)(\(\))? *([<>]|[=!]=)' |
  grep -vE '^plugins/vgpu/exec/whole_kernels/|(_test|_fuzz|_device|test_wave)\.[ch]pp:' || true)
[ -z "$found" ] || complain "comparisons with a generation:"$'\n'"$found"

# Class and memory shape of an operation are columns of tables (isa/op_class.hpp, isa/memory_shape.hpp); names
# are for output. The model uses names, so that it is independent of the columns.
found=$(sources plugins/vgpu/exec plugins/vgpu/cp plugins/vgpu/isa/fidelity.cpp |
  xargs -r grep -nE '\<(isa::(name|mnemonic)|(starts_with|ends_with|find|rfind)\("_?(v|s|ds|t?buffer|flat|global|scratch|image)_)\(?' |
  grep -vE '^plugins/vgpu/exec/whole_kernels/|(_test|_fuzz|_bench|_test_support)\.[ch]pp:' || true)
[ -z "$found" ] || complain "operations that are known by their names:"$'\n'"$found"
finish
