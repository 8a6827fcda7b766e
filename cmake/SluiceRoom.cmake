# cmake/SluiceRoom.cmake - sluice_room() and sluice_module(): the two ways to add code to the product.
# SPDX-License-Identifier: Apache-2.0
add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_compile_features(sluice_flags INTERFACE cxx_std_20)
# Warnings and sanitizers are ours alone: they do not travel with the installed package.
# g++ 12 sees overlaps and overflows in std::string's own operator+ (GCC bug 105651), most of all through precompiled
# headers; clang and the sanitizers look for the real ones. In a unit, a class of a .cpp file with members from that file's
# anonymous namespace looks to it like one of a header (subobject-linkage).
target_compile_options(sluice_flags INTERFACE
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Winvalid-pch>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-subobject-linkage>>
  $<BUILD_INTERFACE:$<$<AND:$<BOOL:${SLUICE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>>)
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

# Code that runs once is not worth the time that the optimiser takes. HOT: kernels, codecs, engine. COLD: what parses, plans,
# judges and prints. Debug and sanitizer builds have one level for all.
set(SLUICE_HOT_OPTIONS $<$<CONFIG:Release>:-O3>)
set(SLUICE_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)

# The headers that nearly every file reads, parsed once per kind of room and once for all tests. Files still include what they
# use (tools/check headers builds each alone); kernels, which have instruction sets of their own, go without.
option(SLUICE_PRECOMPILED_HEADERS "Parse the common headers once" ON)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// the common headers, compiled\n")
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
  sluice_precompile(plain OPTIONS ${SLUICE_FUZZED_OPTIONS})
  sluice_precompile(cold OPTIONS ${SLUICE_COLD_OPTIONS} ${SLUICE_FUZZED_OPTIONS})
  sluice_precompile(cli LIBS CLI11::CLI11 OPTIONS ${SLUICE_COLD_OPTIONS} ${SLUICE_UNFUZZED_OPTIONS} HEADERS <CLI/CLI.hpp>)
  foreach(kind plain cold cli)
    set_target_properties(sluice_precompiled_${kind} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endforeach()
endif()

# Units: most of the time of a compiler goes into headers, so it is given few, fat files that include several of ours. Each
# unit is written to the build tree; its files are named from the include root, so that clones share a compiler cache and
# __FILE__ is short. SLUICE_UNITS=OFF compiles every file alone.
option(SLUICE_UNITS "Compile several sources of a room together" ON)
# sluice_units(target NAME plain FILES_PER_UNIT 24 FOLDER sluice/config FILES a.cpp b.cpp): all of about one size, in order
function(sluice_units target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;FILES_PER_UNIT;FOLDER" "FILES")
  list(LENGTH arg_FILES count)
  if(NOT SLUICE_UNITS OR count EQUAL 0)
    target_sources(${target} PRIVATE ${arg_FILES})
    return()
  endif()
  math(EXPR units "(${count} + ${arg_FILES_PER_UNIT} - 1) / ${arg_FILES_PER_UNIT}")
  math(EXPR last "${units} - 1")
  set(index 0)
  foreach(file IN LISTS arg_FILES)
    foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS)
      get_source_file_property(own ${file} ${property})
      if(own)
        message(FATAL_ERROR "${file} has ${property} of its own, which a unit does not see; list it under ALONE")
      endif()
    endforeach()
    math(EXPR unit "${index} * ${units} / ${count}")
    string(APPEND unit_${unit} "#include \"${arg_FOLDER}/${file}\"\n")
    math(EXPR index "${index} + 1")
  endforeach()
  foreach(unit RANGE ${last})
    set(path ${CMAKE_CURRENT_BINARY_DIR}/units/${arg_NAME}_${unit}.cpp)
    file(CONFIGURE OUTPUT ${path} CONTENT "${unit_${unit}}" @ONLY)
    target_sources(${target} PRIVATE ${path})
  endforeach()
endfunction()

# sluice_room(config SOURCES reader.cpp HEADERS reader.h ROOMS core LIBS yaml-cpp)
# One folder, one static library. ROOMS is the whole list of rooms it may include from; LIBS are private, PUBLIC_LIBS are
# those whose types appear in the room's headers. HOT, COLD: see above. FILES_PER_UNIT: how many sources are compiled together.
# ALONE: sources that are not (they have options of their own).
function(sluice_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOT;COLD" "FILES_PER_UNIT" "SOURCES;ALONE;HEADERS;ROOMS;LIBS;PUBLIC_LIBS")
  if(NOT arg_FILES_PER_UNIT)
    set(arg_FILES_PER_UNIT 24)
  endif()
  add_library(sluice_${name} STATIC ${arg_ALONE})
  sluice_units(sluice_${name} NAME ${name} FILES_PER_UNIT ${arg_FILES_PER_UNIT} FOLDER sluice/${name} FILES ${arg_SOURCES})
  target_sources(sluice_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  list(TRANSFORM arg_ROOMS PREPEND sluice_)
  target_link_libraries(sluice_${name} PUBLIC sluice_flags ${arg_ROOMS} ${arg_PUBLIC_LIBS} PRIVATE ${arg_LIBS})
  set_target_properties(sluice_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(name STREQUAL cli)
    target_compile_options(sluice_cli PRIVATE ${SLUICE_COLD_OPTIONS} ${SLUICE_UNFUZZED_OPTIONS})
    sluice_reuse_precompiled(sluice_cli cli)
    return()  # nothing may see cli, not even a program that embeds the rest
  endif()
  if(arg_HOT)  # two rooms: their few units parse the headers in less time than it takes to precompile them once more
    target_compile_options(sluice_${name} PRIVATE ${SLUICE_HOT_OPTIONS})
  elseif(arg_COLD)
    target_compile_options(sluice_${name} PRIVATE ${SLUICE_COLD_OPTIONS})
    sluice_reuse_precompiled(sluice_${name} cold)
  else()
    sluice_reuse_precompiled(sluice_${name} plain)
  endif()
  target_compile_options(sluice_${name} PRIVATE ${SLUICE_FUZZED_OPTIONS})
  install(TARGETS sluice_${name} EXPORT SluiceTargets FILE_SET HEADERS)
endfunction()

# sluice_kernels(aug warps FILES kernels/smooth.cpp ... DEFINITIONS HWY_WANT_AVX3_DL)   Highway code of a room, compiled once
# per instruction set, as one unit: Highway's headers take seconds for each set. Names of the set's namespace are shared by
# the files of a unit. The sets: SSE4, AVX2, AVX3 on x86-64; AVX3_DL (VBMI) only where a row gains by it.
function(sluice_kernels room name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FILES;DEFINITIONS")
  set(target sluice_${room}_${name})
  add_library(${target} OBJECT)
  list(LENGTH arg_FILES count)
  if(SLUICE_UNITS AND count GREATER 1)
    set(unit ${room}_${name}_kernels.cpp)
    list(TRANSFORM arg_FILES REPLACE "(.+)" "#include \"sluice/${room}/\\1\"")
    list(JOIN arg_FILES "\n" includes)
    # Every file names itself for foreach_target.h, which has done its work by then: the last word is this unit's.
    set(whole "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${unit}\"\n")
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/units/${unit}
      CONTENT "${whole}#include <hwy/foreach_target.h>\n${includes}\n${whole}" @ONLY)
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/units/${unit})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/units)
  else()
    target_sources(${target} PRIVATE ${arg_FILES})
  endif()
  target_link_libraries(${target} PRIVATE sluice_flags hwy::hwy nlohmann_json::nlohmann_json fmt::fmt)
  target_compile_options(${target} PRIVATE ${SLUICE_HOT_OPTIONS} ${SLUICE_KERNEL_OPTIONS} ${SLUICE_FUZZED_OPTIONS})
  # No SVE: no machine of ours can test it, and g++ 12 fails on it with the address sanitizer.
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS}
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_sources(sluice_${room} PRIVATE $<TARGET_OBJECTS:${target}>)
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
add_custom_target(sluice_modules)  # every module
