# cmake/SluiceTests.cmake - sluice_test() and sluice_fuzz(): the two ways to add a test in C++.
# SPDX-License-Identifier: Apache-2.0

# The product is what must be optimised as users run it.
set(SLUICE_TEST_OPTIONS ${SLUICE_UNFUZZED_OPTIONS} $<$<CONFIG:Release>:-O1>)
if(SLUICE_PRECOMPILED_HEADERS AND SLUICE_TESTS)
  sluice_precompile(tests LIBS GTest::gtest GTest::gmock OPTIONS ${SLUICE_TEST_OPTIONS} HEADERS <gmock/gmock.h> <gtest/gtest.h>)
endif()
add_custom_target(test_programs)  # all of them
file(WRITE ${PROJECT_BINARY_DIR}/test_programs.txt "")  # lines `test program file labels`, read by tools/gpu_check

# sluice_test(rng_test ROOMS core LIBS ... LABELS slow)   [called from tests/<room>/CMakeLists.txt]
# One file of the room's one program, <room>_tests, and one ctest entry <room>.<file> that runs the tests of this file alone.
# The program links what its files ask for together. It is compiled in units of several files each: a file keeps to a namespace
# of its own, sluice::<room>::<file>. PROGRAM: another program, for what must not be linked with the rest. SOURCES: of the
# program, not in a unit. MODULES: it loads modules, built first and found at run time. PROPERTIES: of the ctest entry.
# Labels: gpu, slow (over a second), threads (worth tsan, and then alone in the program), peers (needs an installed
# library; skipped without it), torch (one of the torch group).
function(sluice_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MODULES" "PROGRAM" "ROOMS;LIBS;LABELS;SOURCES;PROPERTIES")
  if(SLUICE_SANITIZE STREQUAL "thread" AND NOT threads IN_LIST arg_LABELS)
    return()
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME room)
  set(name ${room}.${file})
  set(program ${room}_tests)
  if(arg_PROGRAM)
    set(program ${arg_PROGRAM})
  endif()
  if(NOT TARGET ${program})
    add_executable(${program})
    target_link_libraries(${program} PRIVATE sluice_test_main)
    target_compile_options(${program} PRIVATE ${SLUICE_TEST_OPTIONS})
    sluice_reuse_precompiled(${program} tests)
    add_dependencies(test_programs ${program})
    cmake_language(EVAL CODE "cmake_language(DEFER CALL sluice_unite_tests ${program} tests/${room})")  # when all are known
  endif()
  set_property(TARGET ${program} APPEND PROPERTY SLUICE_TEST_FILES ${file}.cpp)
  target_sources(${program} PRIVATE ${arg_SOURCES})
  list(TRANSFORM arg_ROOMS PREPEND sluice_)
  target_link_libraries(${program} PRIVATE ${arg_ROOMS} ${arg_LIBS})
  add_test(NAME ${name} COMMAND ${program} --file=${file})
  list(JOIN arg_LABELS "," labels)
  file(APPEND ${PROJECT_BINARY_DIR}/test_programs.txt "${name} ${program} ${file} ${labels}\n")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77 ${arg_PROPERTIES})
  if(arg_MODULES)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT SLUICE_MODULE_DIR=${PROJECT_BINARY_DIR})
    add_dependencies(${program} sluice_modules)
  endif()
endfunction()

set(SLUICE_TEST_UNIT 16)  # files at most: one changed file is compiled with its neighbours
function(sluice_unite_tests program folder)
  get_target_property(files ${program} SLUICE_TEST_FILES)
  sluice_units(${program} NAME ${program} FILES_PER_UNIT ${SLUICE_TEST_UNIT} FOLDER ${folder} FILES ${files})
endfunction()

# sluice_gpu_script(cli.train_ranks_gpu_test train_ranks_gpu_test.py sluice [MODULES])   a test in Python, of label gpu, of this program
# Its arguments are the program, and with MODULES the folder of modules. It is run by itself where SLUICE_TEST_DEVICE names a GPU.
file(WRITE ${PROJECT_BINARY_DIR}/gpu_scripts.txt "")  # lines `test python script arguments`, read by tools/gpu_check
function(sluice_gpu_script name script program)
  cmake_parse_arguments(PARSE_ARGV 3 arg "MODULES" "" "")
  set(modules "")
  set(packed "bin/${program}")
  if(arg_MODULES)
    set(modules ${PROJECT_BINARY_DIR})
    string(APPEND packed " bin")
  endif()
  add_test(NAME ${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} $<TARGET_FILE:${program}> ${modules})
  set_tests_properties(${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 600)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  file(APPEND ${PROJECT_BINARY_DIR}/gpu_scripts.txt "${name} python ${folder}/${script} ${packed}\n")
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
