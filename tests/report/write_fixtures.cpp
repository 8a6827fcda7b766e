// tests/report/write_fixtures.cpp - renders the fixture files and result files into a folder, for a
// browser to open.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/report/report.h"

#include "tests/results/fixtures.h"
#include <cstdio>
#include <filesystem>

int main(int argc, char** argv) {
  namespace fixtures = sluice::fixtures;
  if (argc != 3) {
    std::fputs("usage: write_report_fixtures DIR FOLDER_OF_RESULT_FILES\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  auto pages = fixtures::all();
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    if (entry.path().extension() != ".json") continue;
    const auto file = sluice::results::read(entry.path());
    if (!file) {
      std::fprintf(stderr, "%s\n", file.error().message.c_str());
      return 2;
    }
    pages.emplace_back("kind-" + entry.path().stem().string(), *file);
  }
  for (const auto& [name, file] : pages) {
    const auto written =
        sluice::write_file_atomic(folder / (name + ".html"), sluice::report::html({file}));
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().message.c_str());
      return 2;
    }
  }
  const auto matrix = sluice::report::html(fixtures::matrix());
  if (!sluice::write_file_atomic(folder / "matrix.html", matrix)) return 2;
  const auto both = sluice::report::html({fixtures::quick(), fixtures::peers()});
  return sluice::write_file_atomic(folder / "two.html", both) ? 0 : 2;
}
