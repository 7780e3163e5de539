# Options of the build, and the flags that follow from them.
option(RIGEL_TESTS "Build the tests" ON)
option(RIGEL_BENCHMARKS "Build the benchmarks" ON)
option(RIGEL_FUZZ "Build libFuzzer targets (clang only); otherwise their corpora are replayed as tests" OFF)
option(RIGEL_WERROR "Treat warnings as errors" OFF)
set(RIGEL_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")
option(RIGEL_PORTABLE "Need the C library and libelf alone, of those that a system has (tools/package --portable)" OFF)
option(RIGEL_CHECK_CONTAINERS "Check how containers and iterators of libstdc++ are used" OFF)

# rigel_choose(<variable> <purpose> <name>...)
# Defines a list with some of these names. The cache has "all" by default, so that a new name is part of old builds.
function(rigel_choose variable purpose)
  set(${variable} all CACHE STRING "${purpose}: all, or some of ${ARGN}")
  if(${variable} STREQUAL "all")
    set(${variable} "${ARGN}" PARENT_SCOPE)
    return()
  endif()
  foreach(part IN LISTS ${variable})
    if(NOT part IN_LIST ARGN)
      list(JOIN ARGN ", " known)
      message(FATAL_ERROR "${variable}: unknown name '${part}'; choose from ${known}")
    endif()
  endforeach()
endfunction()
# The generations of AMD GPUs. A new one is added here, and as a directory of backends/.
set(RIGEL_GENERATIONS gfx8 gfx9 gfx10 gfx11 gfx12)
rigel_choose(RIGEL_BACKENDS "Backends to build" cpu ${RIGEL_GENERATIONS})
list(TRANSFORM RIGEL_BACKENDS PREPEND hsa_backend_ OUTPUT_VARIABLE RIGEL_BACKEND_MODULES)
list(TRANSFORM RIGEL_GENERATIONS PREPEND rigel_ OUTPUT_VARIABLE RIGEL_GENERATION_LIBRARIES)
set(RIGEL_HAS_ALL_GENERATIONS ON)
foreach(generation IN LISTS RIGEL_GENERATIONS)
  if(NOT generation IN_LIST RIGEL_BACKENDS)
    set(RIGEL_HAS_ALL_GENERATIONS OFF)
  endif()
endforeach()
rigel_choose(RIGEL_PLUGINS "Plugins to build" trace validate vgpu)

if(RIGEL_TESTS AND NOT "cpu" IN_LIST RIGEL_BACKENDS)
  message(FATAL_ERROR "RIGEL_TESTS needs the backend 'cpu': add it to RIGEL_BACKENDS or set RIGEL_TESTS=OFF")
endif()

# Tests on virtual GPUs need the virtual GPU and the backend of each of its generations. ThreadSanitizer does
# not recognise the device's second mapping of memory.
set(RIGEL_GPU_TESTS OFF)
if(RIGEL_TESTS AND "vgpu" IN_LIST RIGEL_PLUGINS AND RIGEL_HAS_ALL_GENERATIONS AND NOT RIGEL_SANITIZE MATCHES "thread")
  set(RIGEL_GPU_TESTS ON)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Uses ccache if it is installed. The sloppiness option makes it compare precompiled headers by content.
find_program(RIGEL_CCACHE ccache DOC "Caches what was compiled")
if(RIGEL_CCACHE)
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${RIGEL_CCACHE})
    endif()
  endforeach()
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

add_compile_options(-Wall -Wextra -Wpedantic -fno-semantic-interposition)
# In a unity build a source also sees the globals of other sources, so only shadowed locals are reported.
if(NOT CMAKE_UNITY_BUILD)
  add_compile_options(-Wshadow)
else()
  # GCC takes sources included by a unity file for headers, and warns of their anonymous namespaces.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(RIGEL_WERROR)
  add_compile_options(-Werror)
endif()
# Clang checks thread-safety annotations (api/support/mutex.hpp) in every build.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
                    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Werror=thread-safety>)

# Prefix of test names that names the build: tools/check runs the tests of several builds together.
set(RIGEL_TEST_PREFIX "")
if(RIGEL_SANITIZE MATCHES "address")
  set(RIGEL_TEST_PREFIX "asan:")
elseif(RIGEL_SANITIZE MATCHES "thread")
  set(RIGEL_TEST_PREFIX "tsan:")
endif()
if(RIGEL_SANITIZE OR RIGEL_CHECK_CONTAINERS)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(RIGEL_CHECK_CONTAINERS)
  add_compile_definitions(_GLIBCXX_DEBUG)
endif()
if(RIGEL_SANITIZE)
  add_compile_options(-fsanitize=${RIGEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RIGEL_SANITIZE})
  if(RIGEL_SANITIZE MATCHES "undefined")
    # The API's enumerations are C types: callers can pass any int, which is rejected with a status. Without
    # -fstrict-enums compilers do not assume otherwise.
    add_compile_options(-fno-sanitize=enum)
    if(RIGEL_SANITIZE MATCHES "address")
      # AddressSanitizer finds these accesses. Compiling the checks takes a fifth of the time.
      add_compile_options(-fno-sanitize=object-size)
    endif()
  endif()
  if(RIGEL_SANITIZE MATCHES "thread")
    # GCC's TSan does not model standalone fences; the code that uses them documents its correctness.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
else()
  add_link_options(-Wl,-z,defs -Wl,-z,now -Wl,-z,relro)
endif()

if(RIGEL_PORTABLE)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

if(RIGEL_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "RIGEL_FUZZ needs clang: configure with the 'fuzz' preset")
endif()
if(RIGEL_FUZZ)
  # Instruments every library, because the fuzzer is guided by coverage.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
