# Debian packages: `cpack -G DEB` in a build directory, or tools/package, which also checks them.
#
#   rigel                the runtime, its backends, tools, rigel-info, rigel-system, documents
#   rigel-dev            headers, the CMake package, the pkg-config file, samples
#   rigel-vgpu           the virtual GPU: vgpu-run, vgpu-exec, its driver, boards
#   rigel-vgpu-compiler  the kernel compiler, if LLVM is available at build time; the only package that needs LLVM
#
# Files are below /usr/lib/rigel, as LLVM's versions have separate trees, so that the runtime does not
# conflict with ROCr's package. `rigel-system on` selects it for the system.
# tools/packaging/debian_layout.cmake moves commands, man pages and documents to Debian's directories.
#
# Builds are reproducible: files contain no date except SOURCE_DATE_EPOCH and no build path.
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
on a machine with AMD GPUs of the generations gfx8 to gfx12 that
speak the interface of the driver amdkfd and execute the code of the GPUs.")

set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME rigel-vgpu-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "rigel-vgpu (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMPILER_DESCRIPTION "This package has what the virtual GPU of the package rigel-vgpu
compiles kernels with that run long. Without it they are executed, too.")

include(CPack)

# The linker's build ID is a hash that includes debugging information, which contains paths.
if(NOT RIGEL_SANITIZE)
  foreach(target hsa-runtime64 ${RIGEL_BACKEND_MODULES} hsa_driver_vgpu hsa_tool_trace hsa_tool_validate vgpu_preload rigel-info vgpu-run vgpu-exec vgpu-compiler)
    if(TARGET ${target})
      target_link_options(${target} PRIVATE -Wl,--build-id=none)
    endif()
  endforeach()
endif()
