// sluice/visit/loader/peers.cpp - comparability first, then the set-up of each library.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/peers.h"

#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/worker/session.h"
#include "sluice/peers/auditor.h"
#include "sluice/peers/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sluice::visit {
namespace {

using Pictures = std::vector<peers::Picture>;

constexpr std::int64_t kCompared = 32;
constexpr double kLevels = 1.5, kSpdlLevels = 3;

measure::SubjectSpec peer_spec(const RowMaker& maker, const std::string& library) {
  measure::SubjectSpec row;
  row.library = library;
  row.case_name = case_of_library(library);
  row.data_dir = std::filesystem::absolute(maker.plan.loader.input);
  row.threads = static_cast<int>(usable_cores());
  row.thread_policy = measure::kLoaderThreads;
  row.cpu_limit = measure::kNoCpuLimit;
  row.unit = "samples/s";
  return row;
}

Json peer_settings(const RowMaker& maker, const SetUp& set_up) {
  const Json ours = loader_spec_json(maker.plan, maker.input, maker.seed);
  return Json{{"batch_size", ours["batch_size"]},   {"workers", set_up.workers},
              {"prefetch", set_up.prefetch},        {"seed", ours["seed"]},
              {"epoch_items", ours["epoch_items"]}, {"step_ms", 0},
              {"variant", set_up.variant}};
}

/// A set-up as the result file tells of it.
Json told(const Json& settings) {
  Json line{{"workers", settings.at("workers")}, {"prefetch", settings.at("prefetch")}};
  if (settings.at("variant") != "") line["variant"] = settings.at("variant");
  return line;
}

void take_settings(measure::SubjectSpec& row, Json settings) {
  for (const char* key : {"batch_size", "workers", "prefetch"})
    row.params[key] = settings[key].dump();
  row.spec = std::move(settings);
}

Status find_peer_worker(measure::SubjectSpec& row) {
  SLUICE_TRY(peers::WorkerCommand worker,
             peers::worker_command(row.library, "loader", measure::kLoaderThreads));
  row.command = std::move(worker.command);
  row.environment = std::move(worker.environment);
  return ok;
}

class Chooser {
 public:
  Chooser(const RowMaker& maker, const measure::RunnerContext& context,
          const std::filesystem::path& scratch, double timeout_s)
      : maker_(maker), context_(context), scratch_(scratch), timeout_s_(timeout_s) {}

  Result<PeerRows> run() {
    PeerRows result;
    auto bar = context_.progress->bar("libraries", maker_.plan.libraries.size(), "libraries");
    std::uint64_t done = 0;
    for (const std::string& library : maker_.plan.libraries) {
      bar.set(done++, library);
      if (library == "sluice") continue;
      measure::SubjectSpec row = peer_spec(maker_, library);
      Json set_up{{"library", library}};
      const Status chosen = choose(row, set_up);
      if (!chosen && chosen.error().code == Errc::interrupted) return chosen.error();
      if (!chosen) {
        result.refused.push_back(measure::refused_row(row, chosen.error()));
        set_up["reason"] = chosen.error().message;
      } else {
        result.rows.push_back(std::move(row));
      }
      result.set_up.push_back(std::move(set_up));
    }
    bar.set(done);
    return result;
  }

 private:
  Status start(measure::WorkerSession& session, const measure::SubjectSpec& row) const {
    if (context_.interrupted && context_.interrupted())
      return Error{Errc::interrupted, "interrupted"};
    measure::SubjectSpec spec = row;
    spec.thread_policy = measure::kLoaderThreads;
    return session.start(measure::session_options(spec, context_, timeout_s_, maker_.seed),
                         context_);
  }

  /// Prepared and checked; with `samples` also the fixed crops. Items of a pass.
  Result<std::int64_t> ready(measure::WorkerSession& session, const std::string& case_name,
                             const Json& spec, const std::string& library,
                             Pictures* samples) const {
    SLUICE_TRY(const auto prepared, session.ask(measure::Prepare{case_name, spec}, timeout_s_));
    const std::filesystem::path file = scratch_ / (library + ".f32");
    const auto count =
        std::min<std::int64_t>({kCompared, static_cast<std::int64_t>(maker_.input.epoch_items),
                                static_cast<std::int64_t>(maker_.plan.loader.batch_size)});
    measure::Check check;
    if (samples != nullptr) check.samples = {file, count, 1};
    SLUICE_TRY(const auto checked, session.ask(check, timeout_s_));
    if (samples == nullptr) return prepared.items_per_pass;
    SLUICE_TRY(*samples,
               peers::read_samples(file, checked.shapes, static_cast<std::size_t>(count)));
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return prepared.items_per_pass;
  }

  /// Our own fixed crops of a case, made once.
  Result<const Pictures*> ours(const std::string& case_name) {
    if (const auto known = ours_.find(case_name); known != ours_.end()) return &known->second;
    const measure::SubjectSpec row = maker_.ours(case_name, {}, {});
    measure::WorkerSession session;
    SLUICE_CHECK(start(session, row));
    Pictures samples;
    SLUICE_CHECK(ready(session, case_name, row.spec, "sluice", &samples));
    session.stop();
    return &(ours_[case_name] = std::move(samples));
  }

  Status compare(const measure::SubjectSpec& row, const Pictures& theirs, Json& set_up) {
    SLUICE_TRY(const Pictures* mine, ours(row.case_name));
    const double limit = row.library == "spdl" ? kSpdlLevels : kLevels;
    const double difference = mean_difference(*mine, theirs);
    set_up["mean_difference_levels"] = std::isfinite(difference) ? Json(difference) : Json(nullptr);
    if (difference <= limit) return ok;
    return Error{Errc::measurement,
                 fmt::format("not comparable: fixed crops of {} images differ from ours by {:.2f} "
                             "levels in the mean, at most {:g} is accepted",
                             theirs.size(), difference, limit)};
  }

  Status choose(measure::SubjectSpec& row, Json& set_up) {
    if ((row.case_name == kClipCase) != maker_.input.clips)
      return Error{Errc::unsupported,
                   fmt::format("{} loads {}, and the input holds {}", row.library,
                               maker_.input.clips ? "images" : "videos",
                               maker_.input.clips    ? "videos"
                               : maker_.input.arrays ? "arrays"
                                                     : "images")};
    SLUICE_CHECK(find_peer_worker(row));
    measure::WorkerSession session;
    SLUICE_CHECK(start(session, row));
    const std::vector<SetUp> candidates =
        set_ups_of(row.library, static_cast<int>(usable_cores()), maker_.plan.all_set_ups);
    double best = 0;
    set_up["tried"] = Json::array();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Json spec = peer_settings(maker_, candidates[i]);
      Pictures samples;
      SLUICE_TRY(const auto items,
                 ready(session, row.case_name, spec, row.library, i == 0 ? &samples : nullptr));
      if (i == 0) SLUICE_CHECK(compare(row, samples, set_up));
      double rate = 1;
      if (candidates.size() > 1) {
        SLUICE_TRY(rate, probe(session, row.case_name, items));
      }
      if (rate > best) {
        best = rate;
        take_settings(row, spec);
      }
      Json line = told(spec);
      if (candidates.size() > 1) line["samples_per_sec"] = rate;
      set_up["tried"].push_back(std::move(line));
    }
    session.stop();
    set_up["used"] = told(row.spec);
    return ok;
  }

  /// One short sample: enough to rank set-ups, too little for a result.
  Result<double> probe(measure::WorkerSession& session, const std::string& case_name,
                       std::int64_t items) const {
    constexpr std::int64_t kPasses = 3;
    SLUICE_TRY(const auto answer,
               session.ask(measure::Measure{case_name, kPasses, 0, 0}, timeout_s_));
    measure::Run run;
    SLUICE_CHECK(measure::add_sample(run, answer, items * kPasses));
    return measure::run_rate(run, items * kPasses);
  }

  const RowMaker& maker_;
  const measure::RunnerContext& context_;
  const std::filesystem::path& scratch_;
  double timeout_s_;
  std::map<std::string, Pictures> ours_;
};

}  // namespace

std::vector<SetUp> set_ups_of(const std::string& library, int cores, bool all) {
  std::vector<SetUp> list;
  const auto add = [&](int workers, const std::string& variant = "") {
    list.push_back({workers, 2, variant});
    if (all) list.push_back({workers, 4, variant});
  };
  if (library == "dali-cpu" || library == "spdl") {
    // Threads of one process: one a core is what their guides begin with, two hide reads.
    add(cores);
    add(2 * cores);
    add(cores, library == "spdl" ? "images" : "affinity");
    return list;
  }
  if (!library.starts_with("torch") && library != "webdataset" && library != "pyav")
    return {{cores, 2, ""}};  // it sizes itself by the cores
  for (const int workers : std::set<int>{1, 2, cores})
    add(workers);
  return list;
}

double mean_difference(const std::vector<peers::Picture>& a, const std::vector<peers::Picture>& b) {
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].values.size() != b[i].values.size()) return INFINITY;
    for (std::size_t k = 0; k < a[i].values.size(); ++k)
      sum += std::abs(static_cast<double>(a[i].values[k]) - static_cast<double>(b[i].values[k]));
    count += static_cast<double>(a[i].values.size());
  }
  return count > 0 ? sum / count : INFINITY;
}

Result<measure::SubjectSpec> peer_row(const RowMaker& maker, const std::string& library,
                                      int workers, int prefetch,
                                      const std::map<std::string, std::string>& axes) {
  measure::SubjectSpec row = peer_spec(maker, library);
  SLUICE_CHECK(find_peer_worker(row));
  measure::State state;
  state.values = axes;
  row.case_name = measure::case_name(row.case_name, state);
  row.params = axes;
  take_settings(row, peer_settings(maker, {workers, prefetch, ""}));
  return row;
}

Result<PeerRows> choose_peers(const RowMaker& maker, const measure::RunnerContext& context,
                              const std::filesystem::path& scratch, double timeout_s) {
  return Chooser(maker, context, scratch, timeout_s).run();
}

}  // namespace sluice::visit
