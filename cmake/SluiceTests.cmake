# cmake/SluiceTests.cmake - sluice_test() and sluice_fuzz(): the two ways to add a test in C++.
# SPDX-License-Identifier: Apache-2.0
if(SLUICE_PRECOMPILED_HEADERS AND SLUICE_TESTS)
  sluice_precompile(tests LIBS GTest::gtest_main GTest::gmock OPTIONS ${SLUICE_UNFUZZED_OPTIONS} $<$<CONFIG:Release>:-O1>
    HEADERS <gmock/gmock.h> <gtest/gtest.h>)
endif()

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
