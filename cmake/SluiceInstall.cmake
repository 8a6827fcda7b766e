# cmake/SluiceInstall.cmake - what `cmake --install` puts where, and the package that find_package(Sluice) reads.
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

# Sluice::sluice is every room that a program may embed; each room is also there by itself (Sluice::stats).
add_library(sluice_all INTERFACE)
foreach(room IN LISTS SLUICE_ROOMS)
  if(TARGET sluice_${room} AND NOT room STREQUAL cli)
    target_link_libraries(sluice_all INTERFACE sluice_${room})
  endif()
endforeach()
set_target_properties(sluice_all PROPERTIES EXPORT_NAME sluice)
install(TARGETS sluice_all EXPORT SluiceTargets)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION ${package_dir})
configure_package_config_file(cmake/SluiceConfig.cmake.in ${PROJECT_BINARY_DIR}/SluiceConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)  # before 1.0 a minor version may change an interface
install(FILES ${PROJECT_BINARY_DIR}/SluiceConfig.cmake ${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
  DESTINATION ${package_dir})

install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs OPTIONAL FILES_MATCHING PATTERN "*.md" PATTERN "*.json")

install(DIRECTORY adapters/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sluice/adapters
  PATTERN "__pycache__" EXCLUDE PATTERN "cpp" EXCLUDE)

# Program and modules run from wherever the folder lies: an archive (tools/dist) keeps libraries beside the modules. DT_RPATH,
# not DT_RUNPATH: it counts for what those libraries load in turn, and no LD_LIBRARY_PATH of another program comes before.
if(TARGET sluice)
  target_link_options(sluice PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(sluice PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/sluice" BUILD_WITH_INSTALL_RPATH ON)
endif()
if(TARGET sluice_cuda)  # cuBLASLt is the host's: where toolkits usually lie, or where this one does
  set_target_properties(sluice_cuda PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "/usr/local/cuda/lib64;$<TARGET_FILE_DIR:CUDA::cublasLt>")
endif()

if(TARGET sluice)
  set(completion_dir ${PROJECT_BINARY_DIR}/completion)
  add_custom_command(OUTPUT ${completion_dir}/bash/sluice ${completion_dir}/zsh/_sluice
    COMMAND sluice completion bash --out ${completion_dir}/bash >/dev/null
    COMMAND sluice completion zsh --out ${completion_dir}/zsh >/dev/null
    DEPENDS sluice COMMENT "Writing shell completion")
  add_custom_target(sluice_completion ALL DEPENDS ${completion_dir}/bash/sluice ${completion_dir}/zsh/_sluice)
  add_custom_target(installed DEPENDS sluice sluice_modules sluice_completion)  # what `cmake --install` copies
  install(FILES ${completion_dir}/bash/sluice DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion_dir}/zsh/_sluice DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
