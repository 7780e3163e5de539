# The few shapes that a target of this project has.
include(GoogleTest)

# GoogleTest's headers are half of what a test takes to compile. They are parsed once for all tests.
#
# Presets of developers set CMAKE_UNITY_BUILD: the sources of a target are compiled together, in batches. That takes a
# third of the time. Names in anonymous namespaces must then differ within a target, or a source gets the
# property SKIP_UNITY_BUILD_INCLUSION.
if(RIGEL_TESTS)
  add_executable(rigel_test_headers EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/no_code.cpp)
  set_target_properties(rigel_test_headers PROPERTIES UNITY_BUILD OFF)
  target_compile_options(rigel_test_headers PRIVATE -O0)
  target_link_libraries(rigel_test_headers PRIVATE GTest::gmock)
  target_precompile_headers(rigel_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  # ccache needs the names of precompiled headers, and compares contents instead of times.
  set(header_options $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_compile_options(rigel_test_headers PUBLIC ${header_options})
endif()

# rigel_compile_as_test(<target>)
# Compiles a GoogleTest program soon: what its macros expand to takes long to optimise and runs in no time.
function(rigel_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0 $<TARGET_PROPERTY:rigel_test_headers,INTERFACE_COMPILE_OPTIONS>)
  target_precompile_headers(${name} REUSE_FROM rigel_test_headers)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  if(sources)
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# rigel_add_library(<name> SOURCES <file>... [LIBS <target>...])
# A part of the runtime: a static library that is linked, hidden, into libhsa-runtime64 or into a module.
function(rigel_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC rigel_api Threads::Threads ${ARG_LIBS})
endfunction()

# Labels of tests: quick (tools/check runs them) or slow, and vgpu in the folders of the virtual GPU. The tests of programs
# that HIP's and OpenMP's compilers made have the labels hip and openmp instead.
function(rigel_labels variable speed)
  set(labels ${speed})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(plugins/vgpu|tools/vgpu-)")
    list(APPEND labels vgpu)
  endif()
  set(${variable} "${labels}" PARENT_SCOPE)
endfunction()

# rigel_label_tests()
# Called once in a folder: its tests that add_test() adds, and that have no labels, are quick.
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

# rigel_discover_tests(<program> [SLOW <regular expression>] [PROPERTIES <property> <value>...])
# Each test of a GoogleTest program is a ctest of its own; those whose names match are slow, the others quick.
function(rigel_discover_tests name)
  cmake_parse_arguments(ARG "" "SLOW" "PROPERTIES" ${ARGN})
  gtest_discover_tests(${name} ${RIGEL_DISCOVERED} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ${ARG_PROPERTIES})
  # ctest reads this after the list of the tests.
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

# rigel_add_test(<name> SOURCES <file>... [LIBS <target>...] [ENVIRONMENT <VAR=value>...] [SLOW <regular expression>])
# A GoogleTest program; each of its tests is a ctest of its own, which is slow if its name matches.
function(rigel_add_test name)
  if(NOT RIGEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SLOW" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  if(RIGEL_SANITIZE MATCHES "thread")  # tests that fork go on in the child, which TSan does not do by itself
    list(APPEND ARG_ENVIRONMENT TSAN_OPTIONS=die_after_fork=0)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  rigel_compile_as_test(${name})
  target_link_libraries(${name} PRIVATE rigel_api ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  # The property ENVIRONMENT would keep the first of several variables only: CMake 3.25 takes its list apart.
  if(ARG_ENVIRONMENT)
    set_property(TARGET ${name} PROPERTY CROSSCOMPILING_EMULATOR ${CMAKE_COMMAND} -E env ${ARG_ENVIRONMENT})
  endif()
  rigel_discover_tests(${name} SLOW "${ARG_SLOW}")
endfunction()

# rigel_add_benchmark(<name> SOURCES <file>... [LIBS <target>...])
# A Google Benchmark program. Never part of ctest.
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
# With RIGEL_FUZZ a libFuzzer program; without it the same code replays its seeds as one ctest.
# The seeds are packed in <name>.seeds.tar.xz beside the sources (tools/seeds adds to them), and the target <name>_seeds
# unpacks them into ${RIGEL_SEEDS}/<name>, where tests that use one of them find it as well.
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
  # The folder is emptied before, so that a seed that has left the archive is gone here too.
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
# A loadable backend libhsa_backend_<name>.so that exports hsa_backend_query_v1 and nothing else,
# with its manifest beside the others. MANIFEST is configured: @RIGEL_BACKEND_LIBRARY@ is the module's
# path relative to the manifest.
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
# A loadable tool libhsa_tool_<name>.so of the runtime's own tool ABI, that exports hsa_tool_query_v1 and nothing else.
# Like a stranger's it sees the public headers only; configurations name it without a folder.
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
