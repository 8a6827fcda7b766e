# cmake/SluiceDependencies.cmake - the compiler and third-party packages; each room links only what it names in LIBS.
# SPDX-License-Identifier: Apache-2.0
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: g++ 12 or clang 14 "
    "or later is needed; name one with CXX=g++-12, for a new build folder")
endif()

# Required: what is missing is said in one line, all of it, with the Debian packages that bring it.
set(sluice_missing)
macro(sluice_require name package)
  if(NOT ${name}_FOUND)
    list(APPEND sluice_missing "${name} (${package})")
  endif()
endmacro()
find_package(Threads REQUIRED)
find_package(fmt QUIET)
sluice_require(fmt libfmt-dev)
find_package(nlohmann_json QUIET)
sluice_require(nlohmann_json nlohmann-json3-dev)
find_package(yaml-cpp QUIET)
sluice_require(yaml-cpp libyaml-cpp-dev)
find_package(CLI11 QUIET)
sluice_require(CLI11 libcli11-dev)
find_package(JPEG QUIET)
sluice_require(JPEG libjpeg-dev)
find_package(PNG QUIET)
sluice_require(PNG libpng-dev)
find_package(hwy QUIET)
sluice_require(hwy libhwy-dev)
find_package(PkgConfig QUIET)
sluice_require(PkgConfig pkg-config)
if(PkgConfig_FOUND)
  pkg_check_modules(DEFLATE QUIET IMPORTED_TARGET libdeflate)
  sluice_require(DEFLATE libdeflate-dev)
  pkg_check_modules(WEBP QUIET IMPORTED_TARGET libwebp)
  sluice_require(WEBP libwebp-dev)
endif()
if(SLUICE_TESTS)
  find_package(GTest QUIET)
  sluice_require(GTest "libgtest-dev libgmock-dev")
  find_package(Python3 QUIET COMPONENTS Interpreter)
  sluice_require(Python3 python3)
endif()
if(sluice_missing)
  list(JOIN sluice_missing ", " sluice_missing)
  message(FATAL_ERROR "not installed: ${sluice_missing}; install what is named in brackets, or run tools/setup, then build again")
endif()

find_package(LibArchive QUIET)  # optional: without it there is no archive module
if(TARGET LibArchive::LibArchive)
  find_package(ZLIB REQUIRED)  # libpng's headers bring it
endif()
find_package(CURL QUIET)        # optional: without it there is no net module, and s3:// and gs:// say so
# Optional: without it there is no video module, and what needs it says so.
pkg_check_modules(LIBAV QUIET IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
# Optional: the matrix products of training on the CPU. With neither there is no dnn module, and what needs it says so.
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(ONEDNN_LIBRARY dnnl)
pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
# Optional: without it there is no mpi module, and what needs several ranks says so.
pkg_check_modules(MPI QUIET IMPORTED_TARGET mpi-c)
