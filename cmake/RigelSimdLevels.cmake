# RIGEL_SIMD_LEVELS: SIMD levels for which the virtual GPU's interpreter and compiler are built
# (plugins/vgpu/exec/simd.hpp). simd_left_out: the reason for a missing level, which tests of levels print;
# they fail without a reason. simd_flags_<level>: compiler flags of a level.
include_guard(DIRECTORY)
set(RIGEL_SIMD all CACHE STRING "SIMD levels of the virtual GPU: all, or native (the first and this machine's best)")
set(RIGEL_SIMD_LEVELS 0)
set(simd_left_out "the wider levels are for x86-64")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RIGEL_SIMD_LEVELS 0 1 2)
  set(simd_left_out "")
  set(simd_flags_1 -march=x86-64-v3)
  set(simd_flags_2 -march=x86-64-v4 -mprefer-vector-width=512)
  # Sanitizers multiply the compile time of handlers, and every level has the same sources. ThreadSanitizer
  # does not instrument them.
  if(RIGEL_SANITIZE)
    set(RIGEL_SIMD_LEVELS 0)
    set(simd_left_out "sanitized builds have the first level alone, which has the same sources as the others")
  elseif(RIGEL_SIMD STREQUAL "native")
    file(STRINGS /proc/cpuinfo has_avx2 REGEX "^flags.* avx2 " LIMIT_COUNT 1)
    file(STRINGS /proc/cpuinfo has_avx512 REGEX "^flags.* avx512vl" LIMIT_COUNT 1)
    set(RIGEL_SIMD_LEVELS 0)
    if(has_avx512)
      list(APPEND RIGEL_SIMD_LEVELS 2)
    elseif(has_avx2)
      list(APPEND RIGEL_SIMD_LEVELS 1)
    endif()
    set(simd_left_out "this build has the first level and the best of the machine that it was made on")
  endif()
endif()
