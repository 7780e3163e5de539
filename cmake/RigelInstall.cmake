# Install rules. The runtime (backends and manifests), the CMake package and pkg-config find everything
# relative to their location, so that an installed tree can be moved. Modules have their install rules in
# rigel_add_backend and rigel_add_tool. The components are the packages (RigelPackage.cmake).
include(CMakePackageConfigHelpers)

# The version of the runtime's interface as ROCr counts it, not the project's. find_package and pkg-config use
# it.
set(RIGEL_HSA_PACKAGE_VERSION 1.18.0)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/api/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "schemas/*.json" PATTERN samples EXCLUDE PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/samples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev
  PATTERN "samples/CMakeLists.txt" EXCLUDE)  # not a project, only part of this build

# Man pages are compressed without a date, as Debian requires.
find_program(RIGEL_GZIP gzip REQUIRED)
foreach(page rigel-info rigel-system vgpu-run vgpu-exec vgpu-compiler)
  if(page MATCHES "^vgpu-" AND NOT TARGET ${page})
    continue()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.1)
  set(compressed ${PROJECT_BINARY_DIR}/man/${page}.1.gz)
  add_custom_command(OUTPUT ${compressed} COMMAND ${RIGEL_GZIP} -9nc ${source} > ${compressed} DEPENDS ${source} VERBATIM)
  list(APPEND manual ${compressed})
  set(component runtime)
  if(page STREQUAL "vgpu-compiler")
    set(component compiler)
  elseif(page MATCHES "^vgpu-")
    set(component vgpu)
  endif()
  install(FILES ${compressed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
add_custom_target(manual ALL DEPENDS ${manual})

if(NOT TARGET hsa-runtime64)
  return()
endif()

# Without a version in the name: LLVM's OpenMP plugin opens it by this name at run time.
install(TARGETS hsa-runtime64 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hsa-runtime64)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/install/hsa-runtime64-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/hsa-runtime64-config.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR RIGEL_BACKEND_LIBDIR RIGEL_MANIFEST_DIR RIGEL_TOOL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/hsa-runtime64-config-version.cmake
  VERSION ${RIGEL_HSA_PACKAGE_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/hsa-runtime64-config.cmake
  ${PROJECT_BINARY_DIR}/package/hsa-runtime64-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)
if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/RigelCpuKernels.cmake)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/RigelCpuKernels.cmake DESTINATION ${package_dir} COMPONENT dev)
endif()

file(RELATIVE_PATH RIGEL_PKGCONFIG_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/install/hsa-runtime64.pc.in
  ${PROJECT_BINARY_DIR}/package/hsa-runtime64.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/hsa-runtime64.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)
# Programs linked through pkg-config search the library in <this directory>/../../lib. That path exists only
# if this directory does, so it is created without the component dev too.
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
