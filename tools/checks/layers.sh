#!/usr/bin/env bash
# layers.sh <root of the sources>
# Checks the directions of includes, and that properties of GPU generations are in one place.
. "$(dirname "$0")/common.sh"
cd "$1"

sources() { find "$@" -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' 2>/dev/null; }
# Each directory with the directories whose headers it may include, besides its own. A file belongs to the most
# specific directory; a file outside all of them is an error. The order is that of docs/internals/architecture.md.
allowed='
api/include
api/support
api/tests
loader/text          api/support
loader/module        api/support loader/text
loader/code_object   api/support
core/sharing         api/support
core/signal          api/support core/sharing
core/topology        api/support core/signal loader/code_object loader/module
core/driver          api/support core/signal loader/module
core/memory          api/support core/driver core/sharing core/signal core/topology
core/queue           api/support core/memory core/signal core/topology
core/copy            api/support core/memory core/signal core/topology
core/counters        api/support core/topology
core/sampling        api/support core/signal core/topology
core/image           api/support core/copy core/memory core/topology
core/executable      api/support loader/code_object
core/tool            api/support core/queue core/signal core/topology loader/module
core/runtime         api/support core loader/code_object loader/module
api/entry            api/support core loader/module loader/text
backends             api/support
plugins              api/support loader/text
plugins/vgpu/isa
plugins/vgpu/analysis   plugins/vgpu/isa
plugins/vgpu/devices    api/support loader/text plugins/vgpu/isa
plugins/vgpu/fidelity   api/support loader/text
plugins/vgpu/cp         api/support plugins/vgpu/fidelity
plugins/vgpu/cp/backend_counters   api/support backends plugins/vgpu/cp
plugins/vgpu/images     api/support plugins/vgpu/devices plugins/vgpu/isa
plugins/vgpu/check      api/support loader/text plugins/vgpu/cp plugins/vgpu/devices
plugins/vgpu/profile    api/support loader/text plugins/vgpu/fidelity
plugins/vgpu/exec       api/support loader/text plugins/vgpu/analysis plugins/vgpu/check plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/fidelity plugins/vgpu/images plugins/vgpu/isa plugins/vgpu/profile
plugins/vgpu/kfd        api/support loader/text plugins/vgpu/check plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/exec plugins/vgpu/fidelity plugins/vgpu/profile
plugins/vgpu/runner     api/support plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/kfd
plugins/vgpu/compiler   api/support loader/text plugins/vgpu/analysis plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/exec plugins/vgpu/isa plugins/vgpu/runner
plugins/vgpu/preload    api/support plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/kfd
plugins/vgpu/reference  api/support plugins/vgpu/cp plugins/vgpu/devices plugins/vgpu/exec plugins/vgpu/images plugins/vgpu/isa
plugins/vgpu/exec/whole_kernels plugins/vgpu
conformance
docs/samples
tools/packaging
tools                loader/text plugins/vgpu
'
# Prints `file: header`, for headers of the repository.
wrong=$(sources api backends conformance core docs loader plugins tools |
  xargs grep -HoE '^ *# *include +[<"](api|backends|conformance|core|loader|plugins|tools)/[^">]*' /dev/null |
  sed -E 's/: *# *include +[<"]/ /' | awk -v table="$allowed" '
    function starts(path, directory) { return index(path, directory "/") == 1 }
    BEGIN {
      rows = split(table, line, "\n")
      for (r = 1; r <= rows; ++r) {
        if (split(line[r], word, " ") == 0) continue
        may[word[1]] = line[r]
      }
    }
    {
      own = ""
      for (directory in may) if (starts($1, directory) && length(directory) > length(own)) own = directory
      if (own == "") { print $1 ": its directory is not in the table"; next }
      count = split(may[own], word, " ")
      for (w = 1; w <= count; ++w) if (starts($2, word[w])) next
      print $1 " includes " $2
    }')
[ -z "$wrong" ] || complain "includes against the layers:"$'\n'"$wrong"
unknown=$(sources api backends conformance core docs loader plugins tools |
  awk -v table="$allowed" '
    BEGIN { rows = split(table, line, "\n"); for (r = 1; r <= rows; ++r) if (split(line[r], word, " ")) known[word[1]] }
    { for (directory in known) if (index($0, directory "/") == 1) next; print }')
[ -z "$unknown" ] || complain "directories without a row in the table:"$'\n'"$unknown"

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
  xargs -r grep -nE 'Family::k|(target|chip)(\(\))?\.(major|minor|stepping) *([<>]|[!=]=)|gfx_?(major|minor|stepping|target_version)(\(\))? *([<>]|[=!]=)' |
  grep -vE '^plugins/vgpu/exec/whole_kernels/|(_test|_fuzz|_device|test_wave)\.[ch]pp:' || true)
[ -z "$found" ] || complain "comparisons with a generation:"$'\n'"$found"

# Class and memory shape of an operation are columns of tables (isa/op_class.hpp, isa/memory_shape.hpp); names
# are for output, as in exec/native. The model uses names, so that it is independent of the columns.
found=$(sources plugins/vgpu/exec plugins/vgpu/cp plugins/vgpu/isa/fidelity.cpp |
  xargs -r grep -nE '\<(isa::(name|mnemonic)|(starts_with|ends_with|find|rfind)\("_?(v|s|ds|t?buffer|flat|global|scratch|image)_)\(?' |
  grep -vE '^plugins/vgpu/exec/(native|whole_kernels)/|(_test|_fuzz|_bench|_test_support)\.[ch]pp:' || true)
[ -z "$found" ] || complain "operations that are known by their names:"$'\n'"$found"
finish
