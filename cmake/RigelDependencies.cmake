# Everything the build needs, all of it packaged by Debian 12 (tools/dependencies lists the packages).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
pkg_check_modules(libelf REQUIRED IMPORTED_TARGET libelf)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
if(RIGEL_TESTS OR RIGEL_BENCHMARKS)  # fixtures serve both
  find_package(GTest REQUIRED)
endif()
if(RIGEL_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
