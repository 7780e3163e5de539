# The few shapes that a target of this project has.
include(GoogleTest)

# rigel_add_library(<name> SOURCES <file>... [LIBS <target>...])
# A part of the runtime: a static library that is linked, hidden, into libhsa-runtime64 or into a module.
function(rigel_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
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
  # What GoogleTest's macros expand to takes long to optimise and is soon run.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE rigel_api ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  gtest_discover_tests(${name} TEST_PREFIX "${RIGEL_TEST_PREFIX}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ENVIRONMENT "${ARG_ENVIRONMENT}")
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

# rigel_add_fuzzer(<name> SOURCES <file>... CORPUS <folder> [LIBS <target>...])
# With RIGEL_FUZZ a libFuzzer program; without it the same code replays its corpus as one ctest.
function(rigel_add_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  if(RIGEL_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    file(WRITE ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}.corpus "${ARG_CORPUS}\n")  # for tools/stress
  elseif(RIGEL_TESTS)
    add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/cmake/replay_corpus.cpp)
    add_test(NAME ${RIGEL_TEST_PREFIX}${name}.replays_corpus COMMAND ${name} ${ARG_CORPUS})
    set_tests_properties(${RIGEL_TEST_PREFIX}${name}.replays_corpus PROPERTIES TIMEOUT 300)
  else()
    return()
  endif()
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
