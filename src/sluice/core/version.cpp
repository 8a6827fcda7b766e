// sluice/core/version.cpp - values that cmake/WriteGitVersion.cmake and the build supply.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/version.h"

#include "sluice_git_version.h"

namespace sluice::version {

const char* git() {
  return SLUICE_GIT_VERSION;
}
std::string text() {
  return std::string(kProgram) + " (" + git() + ")";
}
const char* compiler() {
  return SLUICE_COMPILER;
}
const char* flags() {
  return SLUICE_FLAGS;
}
const char* build_type() {
  return SLUICE_BUILD_TYPE;
}

}  // namespace sluice::version
