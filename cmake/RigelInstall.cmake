# What `cmake --install` puts where. Everything is found relative to where it is: by the runtime itself (backends
# and manifests), by the CMake package and by pkg-config, so that an installed tree can be moved as a whole.
# Modules install themselves (rigel_add_backend, tools). The components are those of the packages (RigelPackage.cmake).
include(CMakePackageConfigHelpers)

# What users ask for: the version of the runtime's interface as ROCr counts it, not the project's.
set(RIGEL_HSA_PACKAGE_VERSION 1.18.0)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/api/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "schemas/*.json" PATTERN samples EXCLUDE PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/samples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev
  PATTERN "samples/CMakeLists.txt" EXCLUDE)  # no project, but part of this build

# Manual pages are as Debian wants them: compressed, without a date.
find_program(RIGEL_GZIP gzip REQUIRED)
foreach(page rigel-info rigel-system vgpu-run vgpu-exec)
  if(page MATCHES "^vgpu-" AND NOT TARGET ${page})
    continue()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/docs/man/${page}.1)
  set(compressed ${PROJECT_BINARY_DIR}/man/${page}.1.gz)
  add_custom_command(OUTPUT ${compressed} COMMAND ${RIGEL_GZIP} -9nc ${source} > ${compressed} DEPENDS ${source} VERBATIM)
  list(APPEND manual ${compressed})
  set(component runtime)
  if(page MATCHES "^vgpu-")
    set(component vgpu)
  endif()
  install(FILES ${compressed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
add_custom_target(manual ALL DEPENDS ${manual})

if(NOT TARGET hsa-runtime64)
  return()
endif()

# With the name that has no version, by which LLVM's plugin for OpenMP opens it when a program runs.
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
# Programs that were linked by it look for the library in <here>/../../lib, which is a folder as long as this one is: also
# where they run without the component dev.
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
