// tests/results/write_fixtures.cpp - writes the fixture files into a folder, for tests that are not
// C++.
// SPDX-License-Identifier: Apache-2.0
#include "tests/results/fixtures.h"
#include <cstdio>
#include <filesystem>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_result_fixtures DIR\n", stderr);
    return 2;
  }
  for (const auto& [name, file] : sluice::fixtures::all()) {
    const auto written =
        sluice::results::write(std::filesystem::path(argv[1]) / (name + ".json"), file);
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
      return 2;
    }
  }
  return 0;
}
