#!/usr/bin/env bash
# installed_tree.sh <build directory> <root of the sources> <scratch directory> <what>
# Installs the build, moves the tree to another directory, and there
#   program          builds a program with find_package and one with pkg-config, and runs both
#   backend          builds the sample backend, installs its manifest, and finds its device
#   backend-queue    builds the sample backend with queues, and runs its program and the conformance tests
#   gfx11            builds the sample backend for a GPU that does not exist, and runs kernels on it
#   tool             builds the sample tools in C11 and C++20, and runs a program with them and the trace tool
#   tool-activities  builds the sample tool that receives activities, and runs a program with it
#   tool-packets     builds the sample tool that changes packets, and runs a program with it
#   samples          builds the sample vector_copy and runs it
#   tools            runs rigel-info
. "$(dirname "$0")/common.sh"
build=$1 root=$2 scratch=$3/$4 what=$4

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/first place" >"$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
mv "$scratch/first place" "$scratch/here"
prefix=$scratch/here
libdir=$(dirname "$(find "$prefix" -name libhsa-runtime64.so.1)")
# The installed tree must not refer to the build: the runtime finds backends relative to its location.
unset LD_LIBRARY_PATH HSA_BACKEND_MANIFESTS HSA_ADD_BACKEND_MANIFESTS

configure() {  # <source> <build>
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >"$2.log" 2>&1 && cmake --build "$2" >>"$2.log" 2>&1 ||
    { cat "$2.log"; exit 1; }
  grep -q "hsa-runtime64_DIR:PATH=$prefix" "$2/CMakeCache.txt" || complain "another hsa-runtime64 was found than ours"
}

# If only another runtime's package is found, as with ROCr installed and no path to Rigel, configuring fails.
refuses_another_runtime() {  # <source>
  local package=$scratch/other/lib/cmake/hsa-runtime64 said
  mkdir -p "$package"
  : >"$package/hsa-runtime64-config.cmake"
  echo 'set(PACKAGE_VERSION_COMPATIBLE TRUE)' >"$package/hsa-runtime64-config-version.cmake"
  said=$(cmake -S "$1" -B "$scratch/with_other" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/other" 2>&1 | tr -s ' \n' ' ') &&
    complain "$1 is configured with another runtime"
  expect "$said" 'is of another runtime than Rigel: -DCMAKE_PREFIX_PATH=<prefix> says where' "$1 with another runtime"
}

library_of() { ldd "$1" | sed -n 's/.*libhsa-runtime64\.so\.1 => \(.*\) (.*/\1/p'; }  # <program>

case $what in
  program)
    mkdir "$scratch/source"
    cp "$root/tools/checks/list_agents.c" "$scratch/source/"
    cat >"$scratch/source/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(list_agents C)
find_package(hsa-runtime64 1.0 REQUIRED)
add_executable(list_agents list_agents.c)
target_link_libraries(list_agents hsa-runtime64::hsa-runtime64)
CMAKE
    configure "$scratch/source" "$scratch/build"
    expect "$("$scratch/build/list_agents")" '^agent 0: CPU, ' "the program built with find_package"

    export PKG_CONFIG_PATH=$libdir/pkgconfig
    # shellcheck disable=SC2046  # words are meant
    cc -o "$scratch/by_pkg_config" "$scratch/source/list_agents.c" $(pkg-config --cflags --libs hsa-runtime64)
    expect "$("$scratch/by_pkg_config")" '^agent 0: CPU, ' "the program built with pkg-config"
    used=$(library_of "$scratch/by_pkg_config")
    [ "$used" -ef "$libdir/libhsa-runtime64.so.1" ] || complain "the program built with pkg-config finds $used"
    expect "$(pkg-config --modversion hsa-runtime64)" '^1\.' "the version"
    for folder in backend tool; do
      [ -d "$(pkg-config --variable "${folder}dir" hsa-runtime64)" ] || complain "pkg-config's folder of ${folder}s is not there"
    done
    # In a directory with a space, for programs that respect pkg-config's escapes.
    ln -s "$prefix" "$scratch/a place"
    flags=$(PKG_CONFIG_PATH="$scratch/a place/${libdir#"$prefix/"}/pkgconfig" pkg-config --cflags --libs hsa-runtime64)
    eval "cc -o '$scratch/from_a_place' '$scratch/source/list_agents.c' $flags"
    expect "$("$scratch/from_a_place")" '^agent 0: CPU, ' "the program built with pkg-config from a folder with a space"
    # With only the component runtime installed in the same directory.
    mv "$prefix" "$scratch/whole"
    cmake --install "$build" --component runtime --prefix "$prefix" >"$scratch/install_runtime.log" || { cat "$scratch/install_runtime.log"; exit 1; }
    used=$(library_of "$scratch/by_pkg_config")
    [ "$used" -ef "$libdir/libhsa-runtime64.so.1" ] || complain "without the component dev, the program built with pkg-config finds $used"
    rm -rf "$prefix"
    mv "$scratch/whole" "$prefix"
    for header in hsa/hsa.h hsa/hsa_ext_amd.h hsa_backend/hsa_backend.h hsa_plugin/hsa_driver.h hsa_plugin/hsa_tool.hpp hsa_plugin/hsa_tool_calls.h hsa_cpu/kernel.hpp \
      hsa_rigel/check.h hsa_rigel/hsa_ven_rigel_report.h; do
      [ -f "$prefix/include/$header" ] || complain "$header is not installed"
    done
    ;;
  backend)
    refuses_another_runtime "$root/docs/samples/backend"
    configure "$root/docs/samples/backend" "$scratch/build"
    export LD_LIBRARY_PATH=$libdir
    info=$prefix/bin/rigel-info
    expect "$("$info")" '^Agent 0: CPU' "before"
    expect_not "$("$info")" 'Sample accelerator' "before its backend is there"
    # Twice: by the environment, and by a manifest in the directory of manifests.
    expect "$(HSA_ADD_BACKEND_MANIFESTS=$scratch/build "$info")" '^Agent 1: .*Sample accelerator' "by the environment"
    expect "$(HSA_ADD_BACKEND_MANIFESTS=$scratch/build "$info")" 'pool +global +1 MiB' "its memory"
    cmake --install "$scratch/build" >"$scratch/install_backend.log" || { cat "$scratch/install_backend.log"; exit 1; }
    expect "$("$info")" '^Agent 1: .*Sample accelerator' "dropped in"
    expect "$("$info" --report)" 'ok +device .*opened by sample' "the report"
    expect "$(HSA_BACKENDS_DISABLE=sample "$info" --report)" 'sample' "disabled"
    expect_not "$(HSA_BACKENDS_DISABLE=sample "$info")" 'Sample accelerator' "disabled"
    ;;
  backend-queue)
    refuses_another_runtime "$root/docs/samples/backend-queue"
    configure "$root/docs/samples/backend-queue" "$scratch/build"
    export LD_LIBRARY_PATH=$libdir HSA_PLUGIN_CONFIG=none
    said=$("$scratch/build/checksum" 2>&1) && complain "checksum without its backend: $said"
    expect "$said" 'finding the accelerator failed' "without its backend"
    # By the environment.
    export HSA_ADD_BACKEND_MANIFESTS=$scratch/build
    said=$("$scratch/build/checksum" 2>"$scratch/log") || complain "checksum failed: $said"
    expect_file "$said" "$root/docs/samples/backend-queue/expected.txt" "checksum"
    expect "$(cat "$scratch/log")" 'unknown function 32769' "the log"
    for program in queries queues; do
      [ -x "$build/bin/conformance_$program" ] || continue
      "$build/bin/conformance_$program" --gtest_filter='*/Device0' >"$scratch/$program.log" 2>&1 ||
        { tail -n 40 "$scratch/$program.log"; complain "conformance_$program failed"; }
      expect "$(cat "$scratch/$program.log")" 'OK \] .*/Device0' "conformance_$program"
    done
    # By an installed manifest.
    unset HSA_ADD_BACKEND_MANIFESTS
    cmake --install "$scratch/build" >"$scratch/install_backend.log" || { cat "$scratch/install_backend.log"; exit 1; }
    expect "$("$scratch/build/checksum" 2>/dev/null)" '= cbf43926$' "checksum, with the backend dropped in"
    ;;
  gfx11)
    [ -x "$build/bin/conformance_dispatch" ] && [ -f "$build/bin/conformance_gfx1030.hsaco" ] || skip "conformance_dispatch or its kernels are not built"
    cp -r "$root/docs/samples/gfx11" "$scratch/source"
    refuses_another_runtime "$scratch/source"
    configure "$scratch/source" "$scratch/build"
    mkdir "$scratch/kernels"
    cp "$build/bin/conformance_gfx1030.hsaco" "$scratch/kernels/conformance_gfx1190.hsaco"
    export LD_LIBRARY_PATH=$libdir HSA_DRIVER=libhsa_driver_vgpu.so VGPU_BOARD_PATH=$scratch/source/boards
    export HSA_CONFORMANCE_KERNELS=$scratch/kernels VGPU_GPUS=aurora HSA_PLUGIN_CONFIG=none
    info=$prefix/bin/rigel-info
    expect "$("$prefix/bin/vgpu-run" --boards)" '^aurora +gfx1190 ' "the list of boards"
    expect_not "$("$info")" 'gfx1190' "before its backend is there"
    expect "$("$info" --report)" 'aurora.*no backend opened it' "the report, before its backend is there"
    export HSA_ADD_BACKEND_MANIFESTS=$scratch/build
    expect "$("$info")" '^Agent 1: GPU Aurora' "by the environment"
    expect "$("$info")" 'isa +amdgcn-amd-amdhsa--gfx1190' "its ISA"
    expect "$(VGPU_GPUS=gfx900,aurora "$info")" '^Agent 2: GPU Aurora' "beside another"
    # Queues, barriers, kernels and copies, as on every board. Code versions are excepted: their kernels have
    # private memory, which the sample rejects (queue.cpp).
    for program in queues dispatch memory; do
      "$build/bin/conformance_$program" --gtest_filter='*Gpu*:-*TenMillion*:CodeObjectVersion.Runs*:CompiledCodeObject.*' >"$scratch/$program.log" 2>&1 ||
        { tail -n 40 "$scratch/$program.log"; complain "conformance_$program failed"; }
      expect "$(cat "$scratch/$program.log")" 'OK \] .*/Gpu0' "conformance_$program"
    done
    expect "$(cat "$scratch/dispatch.log")" 'OK \] Dispatch.CopiesVector/Gpu0' "a kernel"
    ;;
  samples)
    refuses_another_runtime "$root/docs/samples/vector_copy"
    configure "$root/docs/samples/vector_copy" "$scratch/build"
    expect "$("$scratch/build/vector_copy" 100000)" 'the copy is right' "vector_copy"
    ;;
  tool)
    refuses_another_runtime "$root/docs/samples/tool"
    configure "$root/docs/samples/tool" "$scratch/build"
    configure "$root/docs/samples/vector_copy" "$scratch/program"
    # Next to the configuration file.
    export HSA_PLUGIN_CONFIG=$scratch/build/runtime.json
    said=$("$scratch/program/vector_copy" 1000 2>&1) || complain "vector_copy under the tools: $said"
    expect "$said" 'the copy is right' "vector_copy under the tools"
    expect "$said" 'count: [0-9]{2,} calls' "what the tool in C++ says"
    said=$("$scratch/program/vector_copy" 1000000 2>&1) && complain "the tool in C refuses nothing: $said"
    expect "$said" 'refuse: rejected more than 1 MiB' "what the tool in C says"
    expect "$said" 'hsa_amd_memory_pool_allocate.* failed: HSA_STATUS_ERROR_OUT_OF_RESOURCES' "what the program makes of it"
    info=$prefix/bin/rigel-info
    expect "$("$info" --summary 2>&1)" 'count: [0-9]{2,} calls' "rigel-info under the tools"
    expect "$("$info" --tools 2>/dev/null)" '^refuse: loaded' "rigel-info --tools"
    expect "$("$info" --tools 2>/dev/null)" 'intercepts +2 functions: hsa_memory_allocate, hsa_amd_memory_pool_allocate' "rigel-info --tools"
    # The tool's findings about its options are reported with the file's other errors.
    sed 's/"intercept"/"config": {"limit": 1}, "enabled": 1, &/' "$HSA_PLUGIN_CONFIG" >"$scratch/build/mistaken.json"
    said=$(HSA_PLUGIN_CONFIG=$scratch/build/mistaken.json "$info" 2>&1) && complain "a file with mistakes is taken"
    expect "$said" 'mistaken.json.*/plugins/1/enabled: should be true or false' "the file's mistake"
    expect "$said" 'mistaken.json.*/plugins/1/config: there are no options' "the tool's mistake"
    # Installed.
    cmake --install "$scratch/build" >"$scratch/install_tool.log" || { cat "$scratch/install_tool.log"; exit 1; }
    mkdir "$scratch/elsewhere"
    cp "$scratch/build/runtime.json" "$scratch/elsewhere"
    expect "$(HSA_PLUGIN_CONFIG=$scratch/elsewhere/runtime.json "$info" --tools 2>/dev/null)" \
      "library +$libdir/hsa/plugins/libhsa_tool_count.so" "a tool that is installed"
    expect "$(HSA_PLUGIN_CONFIG=none "$info" --tools)" '^libhsa_tool_count: installed, not configured' "a tool that nothing names"
    # The tool that Rigel includes, by its configuration.
    cd "$scratch/elsewhere"
    said=$(HSA_PLUGIN_CONFIG=$prefix/share/hsa/tools/trace.json "$scratch/program/vector_copy" 1000 2>&1)
    expect "$said" '^ +1 .* vector_copy$' "the trace tool's table"
    [ -s "$(echo trace-*.pftrace)" ] || complain "the trace tool leaves no file: $(ls)"
    cd - >/dev/null
    ;;
  tool-packets)
    refuses_another_runtime "$root/docs/samples/tool-packets"
    configure "$root/docs/samples/tool-packets" "$scratch/build"
    configure "$root/docs/samples/vector_copy" "$scratch/program"
    said=$(HSA_PLUGIN_CONFIG=$scratch/build/runtime.json "$scratch/program/vector_copy" 1000) || complain "vector_copy failed: $said"
    expect_file "$(grep -v '^agent: ' <<<"$said")" "$root/docs/samples/tool-packets/expected.txt" "vector_copy under the tool"
    # The kernel does not run, and the program continues.
    said=$(HSA_PLUGIN_CONFIG=$scratch/build/skip.json "$scratch/program/vector_copy" 1000) && complain "the kernel ran: $said"
    expect "$said" 'kernel vector_copy, 1000 work-items, skipped' "with the option"
    expect "$said" 'the copy is WRONG' "with the option"
    sed 's/"skip"/"skp"/' "$scratch/build/skip.json" >"$scratch/build/wrong.json"
    said=$(HSA_PLUGIN_CONFIG=$scratch/build/wrong.json "$scratch/program/vector_copy" 1000 2>&1) && complain "a wrong option is taken"
    expect "$said" '/plugins/0/config: the only option is "skip"' "a wrong option"
    ;;
  tool-activities)
    refuses_another_runtime "$root/docs/samples/tool-activities"
    configure "$root/docs/samples/tool-activities" "$scratch/build"
    expect "$("$scratch/build/pipeline")" '^pipeline: number 999 became 3996$' "pipeline"
    said=$(HSA_PLUGIN_CONFIG=$scratch/build/runtime.json "$scratch/build/pipeline") || complain "pipeline failed: $said"
    expect_file "$said" "$root/docs/samples/tool-activities/expected.txt" "pipeline under the tool"
    ;;
  tools)
    expect "$("$prefix/bin/rigel-info")" '^Agent 0: CPU' "rigel-info"
    expect "$("$prefix/bin/rigel-info" --report)" "$prefix/.*backends.d" "the place that manifests come from"
    expect "$("$prefix/bin/rigel-system" --version)" '^rigel-system [0-9]' "rigel-system"
    expect "$("$prefix/bin/rigel-system")" '^(none|system|rigel): ' "rigel-system"
    expect "$("$prefix/bin/rigel-system" nonsense 2>&1 || echo "code $?")" '^code 2$' "rigel-system, of nonsense"
    for page in rigel-info rigel-system vgpu-run vgpu-exec vgpu-compiler; do
      [ "$page" = rigel-system ] || [ -x "$prefix/bin/$page" ] || continue
      text=$(gzip -dc "$prefix/share/man/man1/$page.1.gz")
      # The manual has every option that the help lists.
      [ "$page" = rigel-system ] || for option in $("$prefix/bin/$page" --help | grep -oE '^  (-[a-zA-Z] \[ )?--[a-z-]+' | grep -oE -- '--[a-z-]+$'); do
        expect "$text" "[ .\"B]$option" "the manual of $page"
      done
    done
    for document in README.md start/install.md schemas/rigel-info.json samples/backend/sample.cpp; do
      [ -s "$prefix/share/doc/rigel/$document" ] || complain "$document is not installed"
    done
    ;;
esac
finish
