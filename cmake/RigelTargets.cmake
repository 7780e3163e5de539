# Functions that define this project's targets.
include(GoogleTest)

# GoogleTest's headers take half of a test's compile time. They are precompiled once for all tests.
#
# Developer presets set CMAKE_UNITY_BUILD: the sources of a target are compiled in batches, in a third of the
# time. Names in anonymous namespaces must then differ within a target, or a source needs the property
# SKIP_UNITY_BUILD_INCLUSION.
if(RIGEL_TESTS)
  add_executable(rigel_test_headers EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/no_code.cpp)
  set_target_properties(rigel_test_headers PROPERTIES UNITY_BUILD OFF)
  target_compile_options(rigel_test_headers PRIVATE -O0)
  target_link_libraries(rigel_test_headers PRIVATE GTest::gmock)
  target_precompile_headers(rigel_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  # ccache needs the names of precompiled headers, and must compare contents instead of times.
  set(header_options $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_compile_options(rigel_test_headers PUBLIC ${header_options})
endif()

# rigel_compile_as_test(<target>)
# Reduces optimisation of a GoogleTest program: its macros take long to optimise and little time to run.
function(rigel_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0 $<TARGET_PROPERTY:rigel_test_headers,INTERFACE_COMPILE_OPTIONS>)
  target_precompile_headers(${name} REUSE_FROM rigel_test_headers)
  if(RIGEL_SANITIZE MATCHES "address")
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/asan_options.cpp)
  endif()
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  if(sources)
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# rigel_add_library(<name> SOURCES <file>... [LIBS <target>...])
# Adds a part of the runtime: a static library with hidden symbols, for libhsa-runtime64 or modules.
function(rigel_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC rigel_api Threads::Threads ${ARG_LIBS})
endfunction()

# Optimises a target that executes instructions, in builds that optimise the others less (preset dev).
function(rigel_optimise target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if("${CMAKE_CXX_FLAGS_${type}}" MATCHES "-O1" AND NOT RIGEL_SANITIZE)
    target_compile_options(${target} PRIVATE -O2)
  endif()
endfunction()

# Labels of tests: quick (run by tools/check) or slow, and vgpu in the virtual GPU's directories. Tests of
# programs built with HIP's or OpenMP's compilers have the label hip or openmp instead.
function(rigel_labels variable speed)
  set(labels ${speed})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(plugins/vgpu|tools/vgpu-)")
    list(APPEND labels vgpu)
  endif()
  set(${variable} "${labels}" PARENT_SCOPE)
endfunction()

# rigel_label_tests()
# Call once per directory: labels its tests without labels (from add_test()) as quick.
function(rigel_label_tests)
  cmake_language(DEFER CALL rigel_label_tests_of_folder)
endfunction()
function(rigel_label_tests_of_folder)
  rigel_labels(labels quick)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_property(has_labels TEST "${test}" PROPERTY LABELS SET)
    if(NOT has_labels)
      set_property(TEST "${test}" PROPERTY LABELS ${labels})
    endif()
  endforeach()
endfunction()

# rigel_discover_tests(<program> [FORKS] [PARTS] [SLOW <regular expression>] [PROPERTIES <property> <value>...])
# Makes each test of a GoogleTest program a ctest. Tests whose names match SLOW are slow, the others quick.
# PARTS: the program has hundreds of tests that run for less time than a process takes to start. They run
# together, in parts: <program>.<part>, with the label quick. So do the tests of all sanitized programs, which
# take up to a tenth of a second to start. FORKS: with ThreadSanitizer each test has a process of its own.
# There, Linux refuses to fork a process of many tests, because the sanitizer has mapped too much memory.
set(RIGEL_PARTS 4)
function(rigel_discover_tests name)
  cmake_parse_arguments(ARG "FORKS;PARTS" "SLOW" "PROPERTIES" ${ARGN})
  if(ARG_PARTS AND (ARG_FORKS OR ARG_SLOW))
    message(FATAL_ERROR "${name}: PARTS excludes FORKS and SLOW")
  endif()
  if(ARG_PARTS OR (RIGEL_SANITIZE AND NOT (ARG_FORKS AND RIGEL_SANITIZE MATCHES "thread")))
    rigel_labels(labels quick)
    math(EXPR last "${RIGEL_PARTS} - 1")
    foreach(part RANGE ${last})
      set(test ${RIGEL_TEST_PREFIX}${name}.${part})
      add_test(NAME ${test} COMMAND ${name})
      set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT 900 ${ARG_PROPERTIES})
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
        GTEST_TOTAL_SHARDS=${RIGEL_PARTS} GTEST_SHARD_INDEX=${part} GTEST_BRIEF=1)
    endforeach()
    return()
  endif()
  set(prefix)
  if(RIGEL_TEST_PREFIX)  # newer versions of CMake warn of an empty one
    set(prefix TEST_PREFIX ${RIGEL_TEST_PREFIX})
  endif()
  gtest_discover_tests(${name} ${prefix} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ${ARG_PROPERTIES})
  # ctest reads this after the list of tests.
  rigel_labels(quick quick)
  rigel_labels(slow slow)
  set(lines "set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${quick}\")")
  if(ARG_SLOW)
    set(lines "foreach(test IN LISTS ${name}_TESTS)
  if(test MATCHES [==[${ARG_SLOW}]==])
    set_tests_properties(\${test} PROPERTIES LABELS \"${slow}\")
  else()
    set_tests_properties(\${test} PROPERTIES LABELS \"${quick}\")
  endif()
endforeach()")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(WRITE ${file} "if(${name}_TESTS)\n${lines}\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# rigel_add_test(<name> [PARTS] SOURCES <file>... [LIBS <target>...] [ENVIRONMENT <VAR=value>...]
#                [SLOW <regular expression>])
# Adds a GoogleTest program. PARTS and SLOW: see rigel_discover_tests().
function(rigel_add_test name)
  if(NOT RIGEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "PARTS" "SLOW" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  if(RIGEL_SANITIZE MATCHES "thread")  # tests that fork continue in the child; TSan's default ends it
    list(APPEND ARG_ENVIRONMENT TSAN_OPTIONS=die_after_fork=0)
  endif()
  # The other builds compare more results of random instructions and kernels.
  if(RIGEL_SANITIZE AND name MATCHES "^vgpu_(reference|whole_kernels)")
    list(APPEND ARG_ENVIRONMENT RIGEL_DRAWS=3 RIGEL_KERNELS=50 RIGEL_COMPILED_KERNELS=10)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  rigel_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE rigel_api ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  # The property ENVIRONMENT would keep only the first of several variables: CMake 3.25 splits its list.
  if(ARG_ENVIRONMENT)
    set_property(TARGET ${name} PROPERTY CROSSCOMPILING_EMULATOR ${CMAKE_COMMAND} -E env ${ARG_ENVIRONMENT})
  endif()
  set(parts)
  if(ARG_PARTS)
    set(parts PARTS)
  endif()
  rigel_discover_tests(${name} ${parts} SLOW "${ARG_SLOW}")
endfunction()

# rigel_add_benchmark(<name> SOURCES <file>... [LIBS <target>...])
# Adds a Google Benchmark program. ctest does not run it.
function(rigel_add_benchmark name)
  if(NOT RIGEL_BENCHMARKS OR RIGEL_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE rigel_api ${ARG_LIBS} benchmark::benchmark_main)
endfunction()

# rigel_add_fuzzer(<name> SOURCES <file>... [LIBS <target>...])
# With RIGEL_FUZZ, adds a libFuzzer program. Otherwise the same code replays its seeds as one ctest. The seeds
# are packed in <name>.seeds.tar.xz next to the sources (see tools/seeds). The target <name>_seeds unpacks
# them into ${RIGEL_SEEDS}/<name>, where other tests can use them.
set(RIGEL_SEEDS ${CMAKE_BINARY_DIR}/seeds)
function(rigel_add_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  set(archive ${CMAKE_CURRENT_SOURCE_DIR}/${name}.seeds.tar.xz)
  set(seeds ${RIGEL_SEEDS}/${name})
  if(RIGEL_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  elseif(RIGEL_TESTS)
    add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/cmake/replay_seeds.cpp)
    add_test(NAME ${RIGEL_TEST_PREFIX}${name}.replays_seeds COMMAND ${name} ${seeds})
    rigel_labels(labels quick)
    set_tests_properties(${RIGEL_TEST_PREFIX}${name}.replays_seeds PROPERTIES TIMEOUT 300 LABELS "${labels}")
  else()
    return()
  endif()
  # The directory is emptied first, so that seeds that were removed from the archive disappear.
  add_custom_command(OUTPUT ${seeds}.unpacked
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${seeds}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${seeds}
    COMMAND ${CMAKE_COMMAND} -E chdir ${seeds} ${CMAKE_COMMAND} -E tar xf ${archive}
    COMMAND ${CMAKE_COMMAND} -E touch ${seeds}.unpacked
    DEPENDS ${archive} VERBATIM)
  add_custom_target(${name}_seeds DEPENDS ${seeds}.unpacked)
  add_dependencies(${name} ${name}_seeds)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE rigel_api ${ARG_LIBS})
endfunction()

# rigel_add_backend(<name> SOURCES <file>... MANIFEST <file> [LIBS <target>...])
# Adds a loadable backend libhsa_backend_<name>.so that exports hsa_backend_query_v1 only, with its manifest.
# MANIFEST is configured: @RIGEL_BACKEND_LIBRARY@ is the module's path relative to the manifest.
function(rigel_add_backend name)
  cmake_parse_arguments(ARG "" "MANIFEST" "SOURCES;LIBS" ${ARGN})
  set(target hsa_backend_${name})
  add_library(${target} MODULE ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE rigel_api Threads::Threads ${ARG_LIBS})
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/backend.map)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${RIGEL_BACKEND_LIBDIR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/backend.map)
  file(RELATIVE_PATH RIGEL_BACKEND_LIBRARY
    ${CMAKE_BINARY_DIR}/${RIGEL_MANIFEST_DIR} ${CMAKE_BINARY_DIR}/${RIGEL_BACKEND_LIBDIR}/lib${target}.so)
  get_filename_component(manifest ${ARG_MANIFEST} NAME_WLE)
  configure_file(${ARG_MANIFEST} ${CMAKE_BINARY_DIR}/${RIGEL_MANIFEST_DIR}/${manifest} @ONLY)
  install(TARGETS ${target} LIBRARY DESTINATION ${RIGEL_BACKEND_LIBDIR})
  install(FILES ${CMAKE_BINARY_DIR}/${RIGEL_MANIFEST_DIR}/${manifest} DESTINATION ${RIGEL_MANIFEST_DIR})
endfunction()

# rigel_add_tool(<name> SOURCES <file>... [LIBS <target>...])
# Adds a loadable tool libhsa_tool_<name>.so of Rigel's tool ABI that exports hsa_tool_query_v1 only. Like an
# external tool it uses public headers only. Configurations name it without a directory.
function(rigel_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  set(target hsa_tool_${name})
  add_library(${target} MODULE ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE rigel_api Threads::Threads ${ARG_LIBS})
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/tool.map)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${RIGEL_TOOL_LIBDIR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tool.map)
  install(TARGETS ${target} LIBRARY DESTINATION ${RIGEL_TOOL_LIBDIR})
endfunction()

include(${PROJECT_SOURCE_DIR}/conformance/gpu_clang.cmake)
