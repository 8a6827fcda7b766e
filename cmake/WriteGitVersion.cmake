# cmake/WriteGitVersion.cmake - writes OUTPUT with the commit of SOURCE; rewritten only when it changed.
# SPDX-License-Identifier: Apache-2.0
# usage: cmake -DSOURCE=dir -DOUTPUT=file -P WriteGitVersion.cmake   (run at every build)
cmake_minimum_required(VERSION 3.25)
set(version unknown)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE sha ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(NOT failed)
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(version ${sha})
  if(changes)
    string(APPEND version "-dirty")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define SLUICE_GIT_VERSION \"@version@\"\n" @ONLY)
