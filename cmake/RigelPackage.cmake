# Debian packages: `cpack -G DEB` in a build folder, or tools/package, which also checks them.
#
#   rigel        the runtime, its backends, tools (plugins), rigel-info, rigel-system, documents
#   rigel-dev    headers, the CMake package, pkg-config's file, samples
#   rigel-vgpu   the virtual GPU: vgpu-run, vgpu-exec, its driver, boards
#   rigel-vgpu-compiler   its compiler of kernels, if there is an LLVM to build it with: the only one that needs LLVM
#
# All is below /usr/lib/rigel, a tree of its own as LLVM's versions are, so that the runtime stands beside ROCr's package
# and takes nothing of its place: `rigel-system on` does. tools/packaging/debian_layout.cmake puts what people and Debian's
# tools look for elsewhere (commands, man pages, documents) there.
#
# The same sources give the same bytes wherever they are built: files carry no date but SOURCE_DATE_EPOCH's, nor a path.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rigel)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "HSA runtime with a backend for each kind of device")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/rigel)
set(CPACK_COMPONENTS_ALL runtime dev vgpu)
if(TARGET vgpu-compiler)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/packaging/debian_layout.cmake)
set(CPACK_RIGEL_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Rigel authors <rigel@localhost>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME rigel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/tools/packaging/prerm)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "A drop-in libhsa-runtime64.so.1 for HIP, OpenMP offloading and HSA programs.
What it knows of each generation of AMD GPUs is in a backend of its own, and
the CPU is a device that takes kernels, too.

It stands beside ROCr in a folder of its own. The command rigel-system makes
the system use it instead, and goes back.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME rigel-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "rigel (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "This package has the headers of the HSA API and of the interfaces for
backends, tools and driver transports, the CMake package, the file for pkg-
config, and samples.")

set(CPACK_DEBIAN_VGPU_PACKAGE_NAME rigel-vgpu)
set(CPACK_DEBIAN_VGPU_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_VGPU_PACKAGE_DEPENDS "rigel (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_VGPU_PACKAGE_RECOMMENDS "libdw1, rigel-vgpu-compiler")  # libdw1: opened for source lines in reports
set(CPACK_DEBIAN_VGPU_PACKAGE_SUGGESTS rocminfo)
set(CPACK_DEBIAN_VGPU_DESCRIPTION "This package has a GPU made of software: vgpu-run runs an unmodified program
on a machine with AMD GPUs of the generations gfx8, gfx9 and gfx10 that
speak the interface of the driver amdkfd and execute the code of the GPUs.")

set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME rigel-vgpu-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "rigel-vgpu (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMPILER_DESCRIPTION "This package has what the virtual GPU of the package rigel-vgpu
compiles kernels with that run long. Without it they are executed, too.")

include(CPack)

# The linker's identifier of a file is a sum over debugging information, in which folders are, and packages have none.
if(NOT RIGEL_SANITIZE)
  foreach(target hsa-runtime64 hsa_backend_cpu hsa_backend_gfx8 hsa_backend_gfx9 hsa_backend_gfx10 hsa_driver_vgpu
      hsa_tool_trace hsa_tool_validate vgpu_preload rigel-info vgpu-run vgpu-exec vgpu-compiler)
    if(TARGET ${target})
      target_link_options(${target} PRIVATE -Wl,--build-id=none)
    endif()
  endforeach()
endif()
