# Settings of the conformance tests as a separate project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_compile_options(-Wall -Wextra -Wshadow)

include(GoogleTest)
enable_testing()
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

# The tests are compiled with the newest headers. They look up newer functions with dlsym.
add_library(rigel_api INTERFACE)
target_include_directories(rigel_api BEFORE INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../api/include)

set(HSA_CONFORMANCE_EXPECTED "" CACHE FILEPATH "A list of tests that fail on this runtime, with reasons (expected/)")
set(HSA_CONFORMANCE_LIBRARY "" CACHE FILEPATH "The libhsa-runtime64 to test; empty: the one that find_package finds")
if(HSA_CONFORMANCE_LIBRARY)
  add_library(conformance_runtime SHARED IMPORTED)
  set_target_properties(conformance_runtime PROPERTIES IMPORTED_LOCATION ${HSA_CONFORMANCE_LIBRARY})
  set(HSA_CONFORMANCE_RUNTIME conformance_runtime)
else()
  find_package(hsa-runtime64 1.0 REQUIRED)
  set(HSA_CONFORMANCE_RUNTIME hsa-runtime64::hsa-runtime64)
endif()
