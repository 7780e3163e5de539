# What a builder can choose, and the flags that follow from it.
option(RIGEL_TESTS "Build the tests" ON)
option(RIGEL_BENCHMARKS "Build the benchmarks" ON)
option(RIGEL_FUZZ "Build libFuzzer targets (clang only); otherwise their corpora are replayed as tests" OFF)
option(RIGEL_WERROR "Treat warnings as errors" ON)
set(RIGEL_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Lines are enough for stack traces of sanitizers and profilers, at half the cost of full debug information.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
if(RIGEL_SANITIZE)  # whose code is several times as large, and as long in the compiler
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The build tree mirrors the install tree, so that manifests and modules are found by the same rules in both.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(RIGEL_BACKEND_LIBDIR ${CMAKE_INSTALL_LIBDIR}/hsa/backends)
set(RIGEL_MANIFEST_DIR ${CMAKE_INSTALL_DATADIR}/hsa/backends.d)
set(RIGEL_TOOL_LIBDIR ${CMAKE_INSTALL_LIBDIR}/hsa/plugins)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -fno-semantic-interposition)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(RIGEL_WERROR)
  add_compile_options(-Werror)
endif()
# Clang holds the code to what data says of the mutex that guards it (api/support/mutex.hpp), in every build.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
                    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Werror=thread-safety>)

# Says, before the name of a test, which build it is of: tools/check runs several builds' tests together.
set(RIGEL_TEST_PREFIX "")
if(RIGEL_SANITIZE MATCHES "address")
  set(RIGEL_TEST_PREFIX "asan:")
elseif(RIGEL_SANITIZE MATCHES "thread")
  set(RIGEL_TEST_PREFIX "tsan:")
endif()
# What gtest_discover_tests is told of it: newer versions of CMake warn of a prefix that is empty.
set(RIGEL_DISCOVERED)
if(RIGEL_TEST_PREFIX)
  set(RIGEL_DISCOVERED TEST_PREFIX ${RIGEL_TEST_PREFIX})
endif()

if(RIGEL_SANITIZE)
  add_compile_options(-fsanitize=${RIGEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RIGEL_SANITIZE})
  if(RIGEL_SANITIZE MATCHES "undefined")
    # The API's enumerations are C's: callers can pass any int, which is then refused with a status. Compilers
    # that are not told -fstrict-enums give such a value no licence either.
    add_compile_options(-fno-sanitize=enum)
  endif()
  if(RIGEL_SANITIZE MATCHES "thread")
    # GCC's TSan does not model standalone fences; the code that uses them documents why it is right.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
else()
  add_link_options(-Wl,-z,defs -Wl,-z,now -Wl,-z,relro)
endif()

if(RIGEL_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "RIGEL_FUZZ needs clang: configure with the 'fuzz' preset")
endif()
if(RIGEL_FUZZ)
  # Coverage in every library, not only in the targets' own files: it is what the fuzzer steers by.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
