# cmake/SluiceRoom.cmake - sluice_room() and sluice_module(): the two ways to add code to the product.
# SPDX-License-Identifier: Apache-2.0
add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_compile_features(sluice_flags INTERFACE cxx_std_20)
# Warnings and sanitizers are ours alone: they do not travel with the installed package.
# g++ 12 sees overlaps and overflows in std::string's own operator+ (GCC bug 105651), most of all through precompiled
# headers; clang and the sanitizers look for the real ones.
target_compile_options(sluice_flags INTERFACE
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Winvalid-pch>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>>
  $<BUILD_INTERFACE:$<$<AND:$<BOOL:${SLUICE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>>)
target_compile_definitions(sluice_flags INTERFACE $<BUILD_INTERFACE:HWY_WANT_AVX3_DL>)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${SLUICE_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(sluice_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${SLUICE_SANITIZE}>)
endif()
set_target_properties(sluice_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS sluice_flags EXPORT SluiceTargets)

# Files with Highway code: on x86-64 its lowest instruction set is then SSE4 (x86-64-v2, every machine since 2009) and not
# a scalar emulation; what is better is chosen at run time.
set(SLUICE_KERNEL_OPTIONS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(SLUICE_KERNEL_OPTIONS -march=x86-64-v2)
endif()

# In the fuzz build only code that a fuzzer reaches needs coverage and speed: the rest compiles in half the time.
set(SLUICE_FUZZED_OPTIONS $<$<BOOL:${SLUICE_FUZZ}>:-fsanitize=fuzzer-no-link>)
set(SLUICE_UNFUZZED_OPTIONS $<$<BOOL:${SLUICE_FUZZ}>:-O0>)

# The headers that nearly every file reads, parsed once for all rooms and once for all tests: half of the compile time.
# Files still include what they use (tools/check headers builds each alone); one with instruction sets of its own
# (SLUICE_KERNEL_OPTIONS) goes without.
option(SLUICE_PRECOMPILED_HEADERS "Parse the common headers once" ON)
file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp.in "// the common headers, compiled\n")
configure_file(${PROJECT_BINARY_DIR}/precompiled.cpp.in ${PROJECT_BINARY_DIR}/precompiled.cpp COPYONLY)
function(sluice_precompile kind)  # LIBS, OPTIONS, HEADERS: those of every target that will reuse it
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS;OPTIONS;HEADERS")
  add_library(sluice_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(sluice_precompiled_${kind} PRIVATE sluice_flags nlohmann_json::nlohmann_json fmt::fmt ${arg_LIBS})
  target_compile_options(sluice_precompiled_${kind} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(sluice_precompiled_${kind} PRIVATE <nlohmann/json.hpp> <fmt/format.h>
    <algorithm> <atomic> <chrono> <filesystem> <functional> <map> <mutex> <optional> <string> <vector> ${arg_HEADERS})
endfunction()
function(sluice_reuse_precompiled target kind)
  if(SLUICE_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM sluice_precompiled_${kind})
  endif()
endfunction()
if(SLUICE_PRECOMPILED_HEADERS)
  sluice_precompile(rooms OPTIONS ${SLUICE_FUZZED_OPTIONS})
  sluice_precompile(cli OPTIONS ${SLUICE_UNFUZZED_OPTIONS})
  set_target_properties(sluice_precompiled_rooms sluice_precompiled_cli PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

# sluice_room(config SOURCES reader.cpp HEADERS reader.h ROOMS core LIBS yaml-cpp)
# One folder, one static library. ROOMS is the whole list of rooms it may include from;
# LIBS are private, PUBLIC_LIBS are those whose types appear in the room's headers.
function(sluice_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;ROOMS;LIBS;PUBLIC_LIBS")
  add_library(sluice_${name} STATIC ${arg_SOURCES})
  target_sources(sluice_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  list(TRANSFORM arg_ROOMS PREPEND sluice_)
  target_link_libraries(sluice_${name} PUBLIC sluice_flags ${arg_ROOMS} ${arg_PUBLIC_LIBS} PRIVATE ${arg_LIBS})
  set_target_properties(sluice_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(name STREQUAL cli)
    target_compile_options(sluice_cli PRIVATE ${SLUICE_UNFUZZED_OPTIONS})
    sluice_reuse_precompiled(sluice_cli cli)
  else()  # nothing may see cli, not even a program that embeds the rest
    target_compile_options(sluice_${name} PRIVATE ${SLUICE_FUZZED_OPTIONS})
    sluice_reuse_precompiled(sluice_${name} rooms)
    install(TARGETS sluice_${name} EXPORT SluiceTargets FILE_SET HEADERS)
  endif()
endfunction()

# sluice_module(video SOURCES table.cpp LIBS PkgConfig::LIBAV)   libsluice_video.so: a heavy library behind a C table,
# loaded at run time (core/module.h). Lies beside the program in the build tree, in lib/sluice when installed.
# OWN_FLAGS: the caller sets all of its compile options.
function(sluice_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_FLAGS" "" "SOURCES;LIBS")
  add_library(sluice_${name} MODULE ${arg_SOURCES})
  if(NOT arg_OWN_FLAGS)
    target_link_libraries(sluice_${name} PRIVATE sluice_flags)
  endif()
  target_link_libraries(sluice_${name} PRIVATE ${arg_LIBS})
  set_target_properties(sluice_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  install(TARGETS sluice_${name} LIBRARY DESTINATION lib/sluice)
  add_dependencies(sluice_modules sluice_${name})
endfunction()
add_custom_target(sluice_modules)  # every module: what loads them is built after them
