# rigel_add_cpu_kernels(<target> SOURCES <file>... [OUTPUT <name>] [ARCH <-march>])
# Builds a code object for the CPU backend, <OUTPUT or target>.hsaco, from kernels written with
# <hsa_cpu/kernel.hpp>. Its path is $<TARGET_FILE:target>. ARCH is the CPU that it requires
# (RIGEL_CPU_KERNEL_ARCH).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RIGEL_CPU_KERNEL_ARCH x86-64-v3 CACHE STRING "The processor that CPU kernels are compiled for (-march)")
else()
  set(RIGEL_CPU_KERNEL_ARCH armv8-a CACHE STRING "The processor that CPU kernels are compiled for (-march)")
endif()

function(rigel_add_cpu_kernels name)
  cmake_parse_arguments(ARG "" "OUTPUT;ARCH" "SOURCES" ${ARGN})
  if(NOT ARG_ARCH)
    set(ARG_ARCH ${RIGEL_CPU_KERNEL_ARCH})
  endif()
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT ${name})
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  if(TARGET rigel_api)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE rigel_api)
  else()  # uses an installed runtime; a code object links none of its libraries
    target_include_directories(${name} PRIVATE ${HSA_RUNTIME64_INCLUDE_DIR})
    target_compile_features(${name} PRIVATE cxx_std_20)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${ARG_OUTPUT} SUFFIX ".hsaco"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} UNITY_BUILD OFF)
  target_compile_options(${name} PRIVATE -march=${ARG_ARCH} -O3 -fno-sanitize=all
    # No unwinding, guards of statics or stack protectors: kernels do not run as host functions do.
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
    -fno-asynchronous-unwind-tables -fno-stack-protector -fno-plt
    # Kernels read neither errno nor floating-point flags.
    -fno-math-errno -fno-trapping-math -ffp-contract=fast
    $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
  if(ARG_ARCH STREQUAL "x86-64-v4")
    target_compile_options(${name} PRIVATE -mprefer-vector-width=512)
  endif()
  # The loader finds undefined symbols in libm and libc; the link checks that they are there.
  target_link_options(${name} PRIVATE -nostdlib -fno-sanitize=all
    -Wl,-z,defs,-z,now,-z,separate-code,-z,max-page-size=4096,--gc-sections,--build-id,-Bsymbolic)
  target_link_libraries(${name} PRIVATE -lgcc -lm -lc)
endfunction()
