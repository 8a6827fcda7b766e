# cmake/SluiceDependencies.cmake - third-party packages; each room links only what it names in LIBS.
# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
find_package(LibArchive QUIET)  # optional: without it there is no archive module
find_package(CURL QUIET)        # optional: without it there is no net module, and s3:// and gs:// say so
# Optional: without it there is no video module, and what needs it says so.
pkg_check_modules(LIBAV QUIET IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
# Optional: the matrix products of training on the CPU. With neither there is no dnn module, and what needs it says so.
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(ONEDNN_LIBRARY dnnl)
pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
find_package(hwy REQUIRED)
if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
