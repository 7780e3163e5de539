# A VALIDATOR for find_program: whether a clang compiles for AMD GPUs and has an lld that links the code.
function(links_gpu_code result compiler)
  execute_process(COMMAND ${compiler} -x c -target amdgcn-amd-amdhsa -mcpu=gfx900 -nogpulib -o ${CMAKE_BINARY_DIR}/gpu_code /dev/null
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
