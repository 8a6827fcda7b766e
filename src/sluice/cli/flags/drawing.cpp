// sluice/cli/flags/drawing.cpp - flags of drawings; batch times read, analysed, drawn again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/drawing.h"

#include "sluice/analysis/mixture/analysis.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/report/mixture/text.h"
#include "sluice/results/batch_times.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/mixture/artifacts.h"

#include <cstdio>

namespace sluice::cli {

namespace fs = std::filesystem;

void add_drawing_flags(CLI::App& command, report::MixtureDrawing& drawing) {
  begin_group(command, "Drawings of batch times");
  const auto number = [&](const char* flag, int& value, const char* text) {
    add_number(command, flag, value, 1, 1'000'000, text);
  };
  number("--window", drawing.window, "batches side by side in one row of the drawing of windows");
  number("--stride", drawing.stride, "batches from the start of one row to the start of the next");
  number("--top-k", drawing.top_k, "number of data sets with a colour of their own");
  number("--rolling", drawing.rolling, "batches over which a share is averaged");
}

bool names_batch_times(const std::string& input) {
  return fs::path(input).extension() == ".jsonl";
}

Result<ExitCode> report_batch_times(const fs::path& path, const Globals& globals,
                                    const report::MixtureDrawing& drawing) {
  SLUICE_TRY(const auto batches, results::read_batch_times(path));
  const auto analysis = analysis::analyse_mixture(batches);
  if (!analysis) {
    return Error{analysis.error().code, printable(path.string()) + ": " + analysis.error().message};
  }
  fs::path folder = globals.out;
  if (folder.empty()) {
    SLUICE_TRY(folder, folder_beside(path));
  }
  OutputFiles files(globals);
  SLUICE_CHECK(
      files.claim({folder / report::kMixtureOverTimeFile, folder / report::kMixtureWindowsFile,
                   folder / report::kMixtureSummaryFile}));
  const auto written = visit::write_mixture_artifacts(folder, batches, drawing);
  if (!written) {
    return Error{written.error().code, printable(path.string()) + ": " + written.error().message};
  }
  for (const fs::path& file : *written)
    files.written(file);
  std::string text = globals.json
                         ? results::to_text(results::to_json(analysis::mixture_metrics(*analysis)))
                         : report::mixture_text(*analysis) + "\n";
  if (!globals.json)
    for (const fs::path& file : *written)
      text += printable(file.string()) + "\n";
  print_text(text);
  return ExitCode::done;
}

}  // namespace sluice::cli
