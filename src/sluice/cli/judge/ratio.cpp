// sluice/cli/judge/ratio.cpp - `sluice ratio DIR... --of A --over B`: how many times faster, case
// by case.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/validate.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/results/result_file.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <map>
#include <memory>

namespace sluice::cli {
namespace {

struct RatioArgs {
  std::vector<std::string> inputs;
  std::string of;
  std::string over;
};

/// One file per session with the rows of all its libraries: only those can be paired.
Result<std::vector<results::ResultFile>> sessions(const std::vector<std::string>& inputs) {
  std::map<std::string, results::ResultFile> by_session;
  for (const std::string& input : inputs) {
    SLUICE_TRY(const auto paths, results::find(input));
    SLUICE_TRY(const auto sound, analysis::read_sound(paths));
    for (const results::ResultFile& file : sound) {
      auto [place, fresh] = by_session.try_emplace(file.session_id, file);
      if (fresh) continue;
      auto& rows = place->second.rows;
      rows.insert(rows.end(), file.rows.begin(), file.rows.end());
    }
  }
  std::vector<results::ResultFile> files;
  for (auto& [id, file] : by_session)
    files.push_back(std::move(file));
  return files;
}

Result<ExitCode> run_ratio(Context& context, const RatioArgs& args) {
  SLUICE_TRY(const auto files, sessions(args.inputs));
  std::vector<analysis::PeerRatio> ratios;
  for (const results::ResultFile& file : files) {
    for (analysis::PeerRatio& ratio : analysis::peer_ratios(file, args.of)) {
      if (ratio.peer == args.over) ratios.push_back(std::move(ratio));
    }
  }
  if (ratios.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("no case has two or more paired runs of both '{}' and '{}'; they must "
                             "be ok rows of one session",
                             printable(args.of), printable(args.over))};
  }
  std::vector<double> points;
  for (const analysis::PeerRatio& ratio : ratios)
    points.push_back(ratio.ratio.point);
  const auto overall = stats::geometric_mean_interval(points);
  if (context.globals.json) {
    Json list = Json::array();
    for (const analysis::PeerRatio& ratio : ratios)
      list.push_back(results::to_json(ratio));
    Json document{{"ratios", std::move(list)}};
    if (overall)
      document["geometric_mean"] =
          Json{{"point", overall->point}, {"low", overall->low}, {"high", overall->high}};
    print("{}\n", dump_json(document, 2));
    return ExitCode::done;
  }
  for (const analysis::PeerRatio& ratio : ratios) {
    print("{:<40} {:.3f} x (95 % interval {:.3f} to {:.3f}, {} pairs)\n", ratio.case_name,
          ratio.ratio.point, ratio.ratio.low, ratio.ratio.high, ratio.pairs);
  }
  if (overall) {
    print("{} over {}, geometric mean of {} cases: {:.3f} x ({:.3f} to {:.3f} between cases)\n",
          args.of, args.over, ratios.size(), overall->point, overall->low, overall->high);
  }
  return ExitCode::done;
}

}  // namespace

void add_ratio(CLI::App& root, Context& context) {
  auto [command, args] = add_command<RatioArgs>(
      root, context, "ratio", "Say how many times faster one library is than another", run_ratio);
  command.add_option("inputs", args.inputs, "run folders or result files")
      ->required()
      ->type_name("DIR|FILE");
  command.add_option("--of", args.of, "library in the numerator")->required();
  command.add_option("--over", args.over, "library that it is compared with")->required();
  add_examples(command, {"sluice ratio first --of albumentationsx --over torchvision",
                         "sluice ratio first --of sluice --over opencv --json"});
}

}  // namespace sluice::cli
