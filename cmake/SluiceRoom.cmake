# cmake/SluiceRoom.cmake - sluice_room() and sluice_test(): the two ways to add code.
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
  if(SLUICE_TESTS)
    sluice_precompile(tests LIBS GTest::gtest_main GTest::gmock OPTIONS ${SLUICE_UNFUZZED_OPTIONS} $<$<CONFIG:Release>:-O1>
      HEADERS <gmock/gmock.h> <gtest/gtest.h>)
  endif()
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

# sluice_test(rng_test ROOMS core LIBS ... LABELS slow)   [called from tests/<room>/CMakeLists.txt]
# One file, one program, one ctest entry named <room>.<file>. Labels: gpu, slow (over a second), threads (worth tsan),
# peers (needs an installed library; skipped without it), torch (one of the torch group).
function(sluice_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LIBS;LABELS;SOURCES")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(name ${folder}.${file})
  add_executable(${name} ${file}.cpp ${arg_SOURCES})
  list(TRANSFORM arg_ROOMS PREPEND sluice_)
  target_link_libraries(${name} PRIVATE ${arg_ROOMS} ${arg_LIBS} GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${SLUICE_UNFUZZED_OPTIONS}
    $<$<CONFIG:Release>:-O1>)  # the product is what must be optimised as users run it
  sluice_reuse_precompiled(${name} tests)
  # An absolute path in the command keeps clones from sharing a compiler cache: only who uses it, itself or by these headers.
  file(STRINGS ${file}.cpp mentions REGEX "SLUICE_SOURCE_DIR|/(support|reference|fake_python)\\.h")
  if(mentions)
    target_compile_definitions(${name} PRIVATE SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
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

# sluice_needs_modules(image.video_test ...)   tests whose program loads modules: built first, found at run time
function(sluice_needs_modules)
  set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT SLUICE_MODULE_DIR=${PROJECT_BINARY_DIR})
  foreach(test IN LISTS ARGN)
    add_dependencies(${test} sluice_modules)
  endforeach()
endfunction()

# sluice_fuzz(config_fuzz ROOMS config CORPUS tests/config/corpus)   a libFuzzer program under fuzz/ of the build tree
function(sluice_fuzz file)
  if(NOT SLUICE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "ROOMS;LIBS")
  list(TRANSFORM arg_ROOMS PREPEND sluice_)
  add_executable(${file} ${file}.cpp)
  target_link_libraries(${file} PRIVATE ${arg_ROOMS} ${arg_LIBS})
  target_include_directories(${file} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${file} PRIVATE -fsanitize=fuzzer-no-link)
  target_compile_definitions(${file} PRIVATE SLUICE_MODULE_DIR="${PROJECT_BINARY_DIR}")  # for those that load modules
  target_link_options(${file} PRIVATE -fsanitize=fuzzer)
  add_dependencies(${file} sluice_modules)
  set_target_properties(${file} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  file(APPEND ${PROJECT_BINARY_DIR}/fuzz_targets.txt "${file} ${PROJECT_SOURCE_DIR}/${arg_CORPUS}\n")
endfunction()
file(WRITE ${PROJECT_BINARY_DIR}/fuzz_targets.txt "")  # lines `program corpus`, read by tools/fuzz
