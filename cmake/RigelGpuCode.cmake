# rigel_add_gpu_code(<test> SOURCE <file.s> PROCESSOR <gfx...> WORDS <file.inc> [DEFINE <symbol=value>]
#   [ALSO <gfx...>...])
# Checks in code for an AMD GPU as words, so that the build needs no assembler. If LLVM's assembler is found,
# a test assembles the source and compares, and `cmake --build . --target update_gpu_code` updates the words.
# The processors of ALSO have the same words; a test for each compares them too.
find_program(RIGEL_LLVM_MC NAMES llvm-mc-19 llvm-mc-18 llvm-mc-17 llvm-mc-16 llvm-mc-15 llvm-mc-14 llvm-mc)
find_program(RIGEL_LLVM_OBJCOPY NAMES llvm-objcopy-19 llvm-objcopy-18 llvm-objcopy-17 llvm-objcopy-16
  llvm-objcopy-15 llvm-objcopy-14 llvm-objcopy)

function(rigel_add_gpu_code test)
  cmake_parse_arguments(ARG "" "SOURCE;PROCESSOR;WORDS;DEFINE" "ALSO" ${ARGN})
  if(NOT RIGEL_LLVM_MC OR NOT RIGEL_LLVM_OBJCOPY OR NOT RIGEL_TESTS)
    return()
  endif()
  get_filename_component(source ${ARG_SOURCE} ABSOLUTE)
  get_filename_component(words ${ARG_WORDS} ABSOLUTE)
  set(command ${CMAKE_COMMAND} -DLLVM_MC=${RIGEL_LLVM_MC} -DLLVM_OBJCOPY=${RIGEL_LLVM_OBJCOPY}
    -DSOURCE=${source} -DWRITTEN_FOR=${ARG_PROCESSOR} -DDEFINE=${ARG_DEFINE} -DWORDS=${words}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/${test} -DPROCESSOR=${ARG_PROCESSOR})
  add_test(NAME ${RIGEL_TEST_PREFIX}gpu_code.${test}_is_what_the_source_says
    COMMAND ${command} -P ${PROJECT_SOURCE_DIR}/cmake/gpu_code.cmake)
  set_tests_properties(${RIGEL_TEST_PREFIX}gpu_code.${test}_is_what_the_source_says PROPERTIES LABELS quick)
  foreach(processor IN LISTS ARG_ALSO)
    add_test(NAME ${RIGEL_TEST_PREFIX}gpu_code.${test}_fits_${processor}
      COMMAND ${command} -DPROCESSOR=${processor} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/${test}_${processor}
        -P ${PROJECT_SOURCE_DIR}/cmake/gpu_code.cmake)
    set_tests_properties(${RIGEL_TEST_PREFIX}gpu_code.${test}_fits_${processor} PROPERTIES LABELS quick)
  endforeach()
  add_custom_target(update_${test} COMMAND ${command} -DUPDATE=ON -P ${PROJECT_SOURCE_DIR}/cmake/gpu_code.cmake)
  if(NOT TARGET update_gpu_code)
    add_custom_target(update_gpu_code)
  endif()
  add_dependencies(update_gpu_code update_${test})
endfunction()
