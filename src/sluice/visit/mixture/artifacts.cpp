// sluice/visit/mixture/artifacts.cpp - the files drawn of batch_times.jsonl, now or later again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/artifacts.h"

#include "sluice/core/file.h"
#include "sluice/report/mixture/text.h"

namespace sluice::visit {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> write_mixture_artifacts(const fs::path& folder,
                                                      std::span<const results::BatchTime> batches,
                                                      const report::MixtureDrawing& drawing) {
  SLUICE_TRY(const std::string over_time, report::mixture_over_time_svg(batches, drawing));
  SLUICE_TRY(const std::string windows, report::mixture_windows_svg(batches, drawing));
  SLUICE_TRY(const std::string summary, report::mixture_summary(batches, drawing));
  SLUICE_CHECK(create_folders(folder));
  const std::pair<const char*, const std::string*> files[] = {
      {report::kMixtureOverTimeFile, &over_time},
      {report::kMixtureWindowsFile, &windows},
      {report::kMixtureSummaryFile, &summary}};
  std::vector<fs::path> written;
  for (const auto& file : files) {
    written.push_back(folder / file.first);
    SLUICE_CHECK(write_file_atomic(written.back(), *file.second));
  }
  return written;
}

}  // namespace sluice::visit
