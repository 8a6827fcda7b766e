// tests/cli/program_run.h - the program called within the test, and what it printed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/program.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace sluice::cli {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

/// `sluice` with these arguments.
inline Outcome outcome_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sluice");
  std::vector<char*> argv;
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = run_program(static_cast<int>(arguments.size()), argv.data());
  std::fflush(stdout);
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {code, out, ::testing::internal::GetCapturedStderr()};
}

}  // namespace sluice::cli
