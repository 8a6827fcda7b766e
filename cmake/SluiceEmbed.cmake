# cmake/SluiceEmbed.cmake - files as arrays in the program, so that it finds them from any folder.
# SPDX-License-Identifier: Apache-2.0
#
# sluice_embed(sluice_eval FOLDER bench/data FILES merges.txt ... NAMESPACE sluice::eval)
#   adds a source that defines kEmbedded[] and kEmbeddedCount as the room's embedded.h declares them.
# Also run by itself at build time: cmake -DFOLDER= -DFILES=a,b -DNAMESPACE= -DOUTPUT= -P SluiceEmbed.cmake
function(sluice_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER;NAMESPACE" "FILES")
  set(folder ${PROJECT_SOURCE_DIR}/${arg_FOLDER})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
  list(TRANSFORM arg_FILES PREPEND ${folder}/ OUTPUT_VARIABLE inputs)
  list(JOIN arg_FILES , names)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DFILES=${names} -DNAMESPACE=${arg_NAMESPACE} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/SluiceEmbed.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/SluiceEmbed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()
string(REPLACE , ";" FILES "${FILES}")
string(REPLACE "::" "/" header "${NAMESPACE}")
set(text "// made by cmake/SluiceEmbed.cmake\n#include \"${header}/embedded.h\"\nnamespace ${NAMESPACE} {\nnamespace {\n")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND text "constexpr unsigned char kBytes${number}[] = {${bytes}};\n")
  string(APPEND table "  {\"${file}\", kBytes${number}, sizeof(kBytes${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "}  // namespace\nconst EmbeddedFile kEmbedded[] = {\n${table}};\n"
  "const std::size_t kEmbeddedCount = ${number};\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
