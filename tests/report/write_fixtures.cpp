// tests/report/write_fixtures.cpp - renders the fixture files and result files into a folder, for a
// browser to open.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/report/gain/gain.h"
#include "sluice/report/report.h"

#include "tests/results/fixtures.h"
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

/// Half a minute of a machine; `gpu`: with a device that worked.
sluice::results::ResourceUse machine_over_time(bool gpu) {
  sluice::results::ResourceUse use;
  use.interval_s = 10;
  use.at_s = {10, 20, 30};
  use.cpu = {0.25, 0.75, 0.5};
  use.ram = {1e9, 2e9, 3e9};
  use.cores = 2;
  use.ram_total = 4e9;
  if (gpu) {
    use.gpu = {0.9, 1, 0.8};
    use.gpu_ram = {5e9, 6e9, 7e9};
    use.gpu_ram_total = 8e9;
  } else {
    use.no_gpu = "no GPU was <asked> for";
  }
  return use;
}

/// Result files of `kinds` beside each other: the page of `report --baseline`.
sluice::Status write_gain(const std::filesystem::path& kinds, const std::filesystem::path& to) {
  std::vector<sluice::results::ResultFile> sides[2];
  for (const char* name : {"loader", "training", "loader-peers", "training-amp"}) {
    std::vector<sluice::results::ResultFile>& side = sides[sides[0].size() < 2 ? 0 : 1];
    SLUICE_TRY(auto file, sluice::results::read(kinds / (std::string(name) + ".json")));
    if (file.training) file.resources = machine_over_time(&side == &sides[1]);
    side.push_back(std::move(file));
  }
  SLUICE_TRY(const auto runs, sluice::report::gain_runs(sides[0], sides[1]));
  return sluice::write_file_atomic(to,
                                   sluice::report::gain_html(sluice::report::gain_report(runs)));
}

}  // namespace

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
  if (const auto written = write_gain(argv[2], folder / "gain.html"); !written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 2;
  }
  const auto matrix = sluice::report::html(fixtures::matrix());
  if (!sluice::write_file_atomic(folder / "matrix.html", matrix)) return 2;
  const auto both = sluice::report::html({fixtures::quick(), fixtures::peers()});
  return sluice::write_file_atomic(folder / "two.html", both) ? 0 : 2;
}
