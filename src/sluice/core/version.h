// sluice/core/version.h - which program this is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sluice::version {

inline constexpr const char* kProgram = "0.1.0";

/// Commit the program was built from, with "-dirty" when the tree had changes; "unknown" outside a
/// repository.
const char* git();
/// "0.1.0 (6a0663a51fb2)": the same for two processes that run the same program.
std::string text();
/// Compiler and its flags, as recorded in every result.
const char* compiler();
const char* flags();
const char* build_type();

}  // namespace sluice::version
