// sluice/cli/drawing_flags.cpp - flags of drawings; batch times read, analysed, drawn again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/drawing_flags.h"

#include "sluice/analysis/mixture_analysis.h"
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
  const fs::path beside = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto written =
      visit::write_mixture_artifacts(globals.out.empty() ? beside : globals.out, batches, drawing);
  if (!written) {
    return Error{written.error().code, printable(path.string()) + ": " + written.error().message};
  }
  std::string text = globals.json ? results::to_text(analysis::to_json(*analysis))
                                  : report::mixture_text(*analysis) + "\n";
  if (!globals.json)
    for (const fs::path& file : *written)
      text += printable(file.string()) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::done;
}

}  // namespace sluice::cli
