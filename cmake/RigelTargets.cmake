# The few shapes that a target of this project has.
include(GoogleTest)

# Headers that are parsed once for many targets: half of what a test takes to compile is GoogleTest, and of what
# a library takes, the standard library's. Sources include all they need themselves. To notice when they don't,
# libraries are compiled without where nothing is sanitized.
function(rigel_precompile_headers headers target_type)
  # Programs and libraries are compiled differently: this is of the kind that uses them.
  cmake_language(CALL add_${target_type} ${headers} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/no_code.cpp)
  set_target_properties(${headers} PROPERTIES EXCLUDE_FROM_ALL ON)
  rigel_set_header_options(${headers})
endfunction()

# For ccache, which wants to be told of precompiled headers, and compares contents and not times.
function(rigel_set_header_options name)
  target_compile_options(${name} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

function(rigel_use_headers name headers)
  if(NOT TARGET ${headers})
    return()
  endif()
  rigel_set_header_options(${name})
  target_precompile_headers(${name} REUSE_FROM ${headers})
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

if(RIGEL_SANITIZE)
  rigel_precompile_headers(rigel_library_headers library)
  target_link_libraries(rigel_library_headers PRIVATE rigel_fmt)
  target_precompile_headers(rigel_library_headers PRIVATE <algorithm> <array> <atomic> <functional> <map> <memory>
    <mutex> <optional> <span> <string> <thread> <vector> <fmt/core.h>)
endif()
if(RIGEL_TESTS)
  rigel_precompile_headers(rigel_test_headers executable)
  target_compile_options(rigel_test_headers PRIVATE -O0)
  target_link_libraries(rigel_test_headers PRIVATE GTest::gmock)
  target_precompile_headers(rigel_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# rigel_compile_as_test(<target>)
# Compiles a GoogleTest program soon: what its macros expand to takes long to optimise and runs in no time.
function(rigel_compile_as_test name)
  target_compile_options(${name} PRIVATE -O0)
  rigel_use_headers(${name} rigel_test_headers)
endfunction()

# rigel_add_library(<name> SOURCES <file>... [LIBS <target>...])
# A part of the runtime: a static library that is linked, hidden, into libhsa-runtime64 or into a module.
function(rigel_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  rigel_use_headers(${name} rigel_library_headers)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC rigel_api Threads::Threads ${ARG_LIBS})
endfunction()

# rigel_add_test(<name> SOURCES <file>... [LIBS <target>...] [ENVIRONMENT <VAR=value>...])
# A GoogleTest program; each of its tests is a ctest of its own.
function(rigel_add_test name)
  if(NOT RIGEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
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
  gtest_discover_tests(${name} ${RIGEL_DISCOVERED} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
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
    set_tests_properties(${RIGEL_TEST_PREFIX}${name}.replays_seeds PROPERTIES TIMEOUT 300)
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
