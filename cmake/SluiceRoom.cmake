# cmake/SluiceRoom.cmake - sluice_room() and sluice_test(): the two ways to add code.
# SPDX-License-Identifier: Apache-2.0
add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
target_compile_features(sluice_flags INTERFACE cxx_std_20)
# Warnings and sanitizers are ours alone: they do not travel with the installed package.
# g++ 12 at -O3 sees overlapping copies in std::string's own operator+ (GCC bug 105651).
target_compile_options(sluice_flags INTERFACE
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion>>
  $<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>>
  $<BUILD_INTERFACE:$<$<AND:$<BOOL:${SLUICE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>>)
target_compile_definitions(sluice_flags INTERFACE $<BUILD_INTERFACE:HWY_WANT_AVX3_DL>)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${SLUICE_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>)
  target_link_options(sluice_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${SLUICE_SANITIZE}>)
endif()
set_target_properties(sluice_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS sluice_flags EXPORT SluiceTargets)

# In the fuzz build only code that a fuzzer reaches needs coverage and speed: the rest compiles in half the time.
set(SLUICE_FUZZED_OPTIONS $<$<BOOL:${SLUICE_FUZZ}>:-fsanitize=fuzzer-no-link>)
set(SLUICE_UNFUZZED_OPTIONS $<$<BOOL:${SLUICE_FUZZ}>:-O0>)

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
  else()  # nothing may see cli, not even a program that embeds the rest
    target_compile_options(sluice_${name} PRIVATE ${SLUICE_FUZZED_OPTIONS})
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
  target_compile_definitions(${name} PRIVATE SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()

# sluice_module(video SOURCES table.cpp LIBS PkgConfig::LIBAV)   libsluice_video.so: a heavy library behind a C table,
# loaded at run time (core/module.h). Lies beside the program in the build tree, in lib/sluice when installed.
function(sluice_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_library(sluice_${name} MODULE ${arg_SOURCES})
  target_link_libraries(sluice_${name} PRIVATE sluice_flags ${arg_LIBS})
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
  target_compile_options(${file} PRIVATE -fsanitize=fuzzer-no-link)
  target_compile_definitions(${file} PRIVATE SLUICE_MODULE_DIR="${PROJECT_BINARY_DIR}")  # for those that load modules
  target_link_options(${file} PRIVATE -fsanitize=fuzzer)
  add_dependencies(${file} sluice_modules)
  set_target_properties(${file} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  file(APPEND ${PROJECT_BINARY_DIR}/fuzz_targets.txt "${file} ${PROJECT_SOURCE_DIR}/${arg_CORPUS}\n")
endfunction()
file(WRITE ${PROJECT_BINARY_DIR}/fuzz_targets.txt "")  # lines `program corpus`, read by tools/fuzz
