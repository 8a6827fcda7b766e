// sluice/cli/judge/history.cpp - `sluice history`: a figure over all runs of a machine profile, and
// where it changed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/core/utc.h"
#include "sluice/gate/baseline/store.h"
#include "sluice/gate/baseline/trend.h"
#include "sluice/gate/site/site.h"
#include "sluice/report/gate/history_text.h"
#include "sluice/report/site/page.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

namespace sluice::cli {
namespace {

struct HistoryFlags {
  std::filesystem::path runs = "runs";
  std::filesystem::path dir = gate::kBaselineDir;
  std::filesystem::path site;
  std::string profile, workload;
  std::string metric = "tokens_per_sec_p50";
  double keep_p = 1e-3;
};

/// Runs and promoted visits, of every profile.
Result<std::vector<gate::FoundVisit>> all_visits(const HistoryFlags& flags) {
  std::vector<std::string> problems;
  SLUICE_TRY(std::vector<gate::FoundVisit> found, gate::find_visits(flags.runs, problems));
  SLUICE_TRY(const auto baselines, gate::list_baselines(flags.dir));
  for (const gate::BaselineInfo& info : baselines) {
    SLUICE_TRY(const gate::BaselinePaths paths, gate::baseline_paths(flags.dir, info.key));
    if (!info.problem.empty()) problems.push_back(info.problem);
    if (info.profile.empty()) continue;
    for (gate::Visit& visit : gate::read_history(paths.history, problems))
      found.push_back({info.profile, std::move(visit)});
  }
  for (const std::string& problem : problems)
    log::warn("{}; left out", problem);
  return found;
}

/// The address of `file` seen from a page in `folder`; it never starts with a scheme.
std::string address_from(const std::filesystem::path& folder, const std::filesystem::path& file) {
  std::error_code code;
  const auto from = std::filesystem::weakly_canonical(folder, code);
  const auto to = std::filesystem::weakly_canonical(file, code);
  const std::string relative = to.lexically_relative(from).generic_string();
  if (code || relative.empty()) return {};
  return storage::uri_encode(relative.starts_with("..") ? relative : "./" + relative, true);
}

Result<ExitCode> write_site(const HistoryFlags& flags, const Globals& globals) {
  SLUICE_TRY(gate::StoredVisits stored, gate::stored_visits(flags.runs, flags.dir));
  for (const std::string& problem : stored.problems)
    log::warn("{}; left out", problem);
  if (stored.visits.empty())
    return Error{Errc::not_found, fmt::format("{} and {}: no runs", sluice::shown(flags.runs),
                                              sluice::shown(flags.dir))};
  stats::ChangePointOptions options;
  options.seed = globals.seed;
  options.keep_p = flags.keep_p;
  OutputFiles files(globals);
  const std::filesystem::path page = flags.site / "index.html";
  SLUICE_CHECK(files.claim({page}, NamedBy::us, "<meta name=\"generator\" content=\"sluice\">"));
  SLUICE_TRY(const gate::Site site, gate::site_of(std::move(stored), options, usable_cores()));
  report::SiteOptions how;
  how.made = utc_now();
  how.address = [&](const std::filesystem::path& file) { return address_from(flags.site, file); };
  SLUICE_CHECK(files.write(page, report::site_page(site, how)));
  std::size_t series = 0, changes = 0;
  for (const gate::SiteGroup& group : site.groups) {
    series += group.series.size();
    for (const gate::SiteSeries& one : group.series)
      changes += one.changes.size();
  }
  if (globals.json)
    print("{}\n", dump_json(Json{{"site", page.string()},
                                 {"visits", site.stored.visits.size()},
                                 {"series", series},
                                 {"changes", changes},
                                 {"problems", site.stored.problems}}));
  else
    print("{}: {} visits, {} series, {} changes of level\n", sluice::shown(page),
          site.stored.visits.size(), series, changes);
  return ExitCode::done;
}

Result<ExitCode> run_history(const HistoryFlags& flags, const Globals& globals) {
  if (!flags.site.empty()) return write_site(flags, globals);
  SLUICE_TRY(const auto found, all_visits(flags));
  // The machine that was visited last, and what was measured there last.
  std::string profile = flags.profile, workload = flags.workload;
  const gate::FoundVisit* last = nullptr;
  for (const gate::FoundVisit& one : found)
    if ((profile.empty() || one.machine_profile == profile) &&
        (workload.empty() || one.visit.workload == workload) &&
        (last == nullptr || one.visit.timestamp > last->visit.timestamp))
      last = &one;
  if (last != nullptr) {
    profile = last->machine_profile;
    workload = last->visit.workload;
  }
  std::vector<gate::Visit> visits;
  std::set<std::string> others;
  for (const gate::FoundVisit& one : found) {
    if (one.machine_profile != profile) continue;
    if (one.visit.workload.empty() || one.visit.workload == workload)
      visits.push_back(one.visit);
    else
      others.insert(one.visit.workload);
  }
  if (!others.empty())
    log::info("{}: runs of other work are left out; --workload takes {}", profile,
              join({others.begin(), others.end()}));
  if (visits.empty())
    return Error{Errc::not_found,
                 fmt::format("{} and {}: no runs of training or eval{}; history --site DIR shows "
                             "every kind",
                             printable(flags.runs.string()), printable(flags.dir.string()),
                             profile.empty() ? "" : " on machine profile " + printable(profile))};
  stats::ChangePointOptions options;
  options.seed = globals.seed;
  options.keep_p = flags.keep_p;
  SLUICE_TRY(const gate::Trend trend, gate::trend_of(std::move(visits), flags.metric, options));
  if (trend.visits.empty())
    return Error{Errc::usage, fmt::format("--metric {}: no run of {} has it",
                                          printable(flags.metric), printable(profile))};
  Json json = gate::to_json(trend);
  json["machine_profile"] = profile;
  json["workload"] = workload;
  if (!globals.out.empty()) {
    OutputFiles files(globals);
    SLUICE_CHECK(files.claim({globals.out / "history.json", globals.out / "history.svg"}));
    SLUICE_CHECK(files.write(globals.out / "history.json", dump_json(json) + "\n"));
    SLUICE_CHECK(files.write(globals.out / "history.svg", report::history_svg(trend, profile)));
  }
  if (globals.json)
    print("{}\n", dump_json(json));
  else
    print("{}", report::history_text(trend, profile));
  return ExitCode::done;
}

}  // namespace

void add_history(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<HistoryFlags>(
      root, context, "history",
      "Show a figure over all runs of a machine profile, and where it changed", run_history);
  add_value(command, "--runs", flags.runs, "DIR", "folder of run folders")->capture_default_str();
  add_value(command, "--baseline-dir", flags.dir, "DIR", "folder of baselines and stored runs")
      ->capture_default_str();
  add_value(command, "--profile", flags.profile, "PROFILE",
            "machine profile; default: that of the newest run");
  add_value(command, "--workload", flags.workload, "DIGEST",
            "what was trained, as the names of baselines end; default: that of the newest run");
  add_value(command, "--metric", flags.metric, "NAME",
            "figure to show: tokens_per_sec_p50, samples_per_sec_p50, step_time_p50_s, "
            "peak_allocated_bytes, "
            "ppl_fixed_shard or probe/NAME")
      ->capture_default_str();
  add_number(command, "--p", flags.keep_p, 1e-12, 0.5,
             "significance level at which a change is reported");
  add_value(command, "--site", flags.site, "DIR",
            "write DIR/index.html instead: every figure of all stored runs, to be looked at");
  add_force_flag(command, context.globals);
  add_examples(command, {"sluice history", "sluice history --metric ppl_fixed_shard --json",
                         "sluice history --out runs/history   # also history.svg",
                         "sluice history --site site   # every figure, in one page"});
}

}  // namespace sluice::cli
