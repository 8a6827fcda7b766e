// sluice/gate/baseline/promotion.cpp - looks at the run, then replaces three files or none.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/promotion.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/analysis/validate.h"
#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/machine_cause.h"
#include "sluice/gate/baseline/proof.h"
#include "sluice/gate/baseline/usual_step.h"
#include "sluice/results/eval_file.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

namespace sluice::gate {
namespace {

namespace fs = std::filesystem;

/// A canary slower than this beside the stored one was measured on a slower machine.
constexpr double kMostCanaryLoss = 0.05;
/// Runs that scatter more make a usual step that is known too badly to be compared with.
constexpr double kMostScatter = 0.10;
/// A run that waited longer says nothing, whoever asks.
constexpr double kInvalidWait = 0.20;

Error refused(const fs::path& run, const std::string& why) {
  return Error{Errc::invalid_input, fmt::format("{}: is not promoted: {}", shown(run), why)};
}

/// Of a run that the gate looked at; a run that only measured has none.
Status check_verdict(const fs::path& run) {
  const fs::path path = run / "verdict.json";
  const auto text = read_text_file(path);
  if (!text) return text.error().code == Errc::not_found ? Status(ok) : Status(text.error());
  SLUICE_TRY(const Json json, parse_json(*text, path.string()));
  SLUICE_TRY(const GateReport report, gate_report_from_json(json));
  if (report.status == GateStatus::fail || report.status == GateStatus::invalid)
    return refused(run, fmt::format("its verdict is {}", to_string(report.status)));
  return ok;
}

Status check_rows(const fs::path& run) {
  std::error_code ignored;
  if (!fs::is_directory(run / "results", ignored)) return ok;  // marked by another program
  SLUICE_TRY(const std::vector<fs::path> paths, results::find(run));
  SLUICE_TRY(const auto files, analysis::read_sound(paths));
  for (const results::ResultFile& file : files) {
    for (const measure::Row& row : file.rows) {
      if (row.library == "sluice" && row.status == measure::RowStatus::failed)
        return refused(run, fmt::format("row {} failed: {}", row.case_name, row.reason));
    }
  }
  return ok;
}

/// metrics.json as it stands: what the run wrote is kept, whoever wrote it.
Result<Json> metrics_document(const fs::path& run) {
  SLUICE_TRY(const std::string text, read_text_file(run / "metrics.json"));
  return parse_json(text, (run / "metrics.json").string());
}

Status check_files(const fs::path& run, const RunFiles& files, bool without_eval) {
  if (!files.metrics) return refused(run, "it has no metrics.json");
  if (!files.eval && !without_eval)
    return refused(run, "it has no eval.json; --without-eval stores the metrics alone");
  if (files.eval && without_eval)
    return refused(run, "it has an eval.json; leave --without-eval out");
  SLUICE_TRY(const Json metrics, metrics_document(run));
  if (const auto problems = analysis::training_metrics_problems(metrics); !problems.empty())
    return refused(run, "metrics.json: " + problems.front());
  const Visit visit = visit_of(files);
  for (const char* figure : {"tokens_per_sec_p50", "step_time_p50_s"}) {
    const auto at = visit.figures.find(figure);
    if (at == visit.figures.end() || at->second <= 0)
      return refused(run, fmt::format("metrics.json: {} is not above 0", figure));
  }
  if (!files.eval) return ok;
  if (const auto problems = results::eval_problems(*files.eval, results::Perplexity::required);
      !problems.empty())
    return refused(run, "eval.json: " + problems.front());
  if ((*files.eval)["machine_profile"] != files.metrics->machine_profile)
    return refused(run, "metrics.json and eval.json are of different machine profiles");
  return ok;
}

/// The verdict is not the only thing that can be red.
Status check_machine(const fs::path& run, const RunFiles& files) {
  const double waited = machine_facts(files, {}).waited.value_or(0);
  if (waited <= kInvalidWait) return ok;
  return refused(
      run, fmt::format("its best run waited for a core {:.1f} % of the time; at most {:.0f} % is "
                       "accepted, {:.0f} % from a maintainer: measure again on a quieter machine",
                       100 * waited, 100 * kCalmWait, 100 * kInvalidWait));
}

/// A file to be, and what it was.
struct Replacement {
  fs::path path;
  std::string content;
  std::optional<std::string> before{};
};

Result<Replacement> replacement(fs::path path, std::string content) {
  Replacement file{std::move(path), std::move(content)};
  auto before = read_text_file(file.path);
  if (before)
    file.before = std::move(*before);
  else if (before.error().code != Errc::not_found)
    return before.error();
  return file;
}

/// All or none: what was replaced before a failure is put back.
Status replace_all(const std::vector<Replacement>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Status written = write_file_atomic(files[i].path, files[i].content);
    if (written) continue;
    for (std::size_t back = 0; back < i; ++back) {
      std::error_code ignored;
      if (!files[back].before)
        fs::remove(files[back].path, ignored);
      else if (const Status restored = write_file_atomic(files[back].path, *files[back].before);
               !restored)
        return Error{Errc::io,
                     fmt::format("{}; and what was there before could not be put back: {}",
                                 written.error().message, restored.error().message)};
    }
    return written.error();
  }
  return ok;
}

/// The doubts of a run that is promoted all the same, beside what is stored; a broken one is none.
Result<std::vector<std::string>> accepted_doubts(const Promotion& promotion, const RunFiles& files,
                                                 const Result<Baseline>& stored) {
  auto doubts = doubts_about(files, stored ? stored->files : RunFiles{});
  if (doubts.empty() || promotion.authority.maintainer) return doubts;
  return refused(promotion.run, join(doubts, "; ") +
                                    "; measure again, or take it with --maintainer --reason TEXT");
}

Json entry_of(const Promotion& promotion, const RunFiles& files, const std::string& metrics,
              const std::string& eval, const std::vector<std::string>& doubts) {
  Json entry = to_json(visit_of(files));
  entry["promoted_at"] = promotion.utc;
  entry["branch"] = promotion.authority.branch ? Json(*promotion.authority.branch) : Json(nullptr);
  entry["maintainer"] = promotion.authority.maintainer;
  entry["reason"] = promotion.authority.reason;
  if (!doubts.empty()) entry["doubts"] = doubts;
  entry["metrics_sha256"] = sha256_hex(metrics);
  entry["eval_sha256"] = files.eval ? Json(sha256_hex(eval)) : Json(nullptr);
  return entry;
}

}  // namespace

Status check(const Authority& authority) {
  if (authority.maintainer) {
    if (authority.reason.empty())
      return Error{Errc::usage, "--maintainer: needs --reason TEXT, which the history keeps"};
    return ok;
  }
  if (authority.branch && *authority.branch == authority.main_branch) return ok;
  const std::string where = authority.branch
                                ? fmt::format("this is branch '{}'", printable(*authority.branch))
                                : authority.no_branch;
  return Error{Errc::usage,
               fmt::format("baselines change on branch '{}' or with --maintainer --reason TEXT; {}",
                           authority.main_branch, where)};
}

std::vector<std::string> doubts_about(const RunFiles& run, const RunFiles& stored) {
  const MachineFacts facts = machine_facts(run, stored);
  std::vector<std::string> doubts;
  if (is_noisy(facts.noise))
    doubts.push_back(fmt::format("its noise check says noisy ({}); usable or quiet is accepted",
                                 noise_text(facts.noise)));
  const auto add = [&](std::optional<double> share, double most, const char* what) {
    if (share && *share > most)
      doubts.push_back(
          fmt::format("{} {:.1f} %; at most {:.0f} % is accepted", what, 100 * *share, 100 * most));
  };
  add(facts.waited, kCalmWait, "its best run waited for a core");
  const auto medians = run_medians(run);
  if (const auto usual = usual_step(medians))
    add(*usual / *std::min_element(medians.begin(), medians.end()) - 1, kMostScatter,
        "its usual step is longer than that of its best run by");
  add(canary_loss(facts.canary, facts.baseline_canary), kMostCanaryLoss,
      "its canary is slower than that of the stored baseline by");
  return doubts;
}

Result<Promoted> promote(const Promotion& promotion) {
  SLUICE_CHECK(check(promotion.authority));
  SLUICE_TRY(const RunFiles files, read_run_files(promotion.run));
  SLUICE_CHECK(check_files(promotion.run, files, promotion.without_eval));
  SLUICE_CHECK(check_verdict(promotion.run));
  SLUICE_CHECK(check_rows(promotion.run));
  SLUICE_CHECK(metrics_are_proven(promotion.run, files));
  SLUICE_CHECK(check_machine(promotion.run, files));
  Promoted done;
  done.profile = files.machine_profile();
  SLUICE_CHECK(baseline_paths(promotion.dir, done.profile));  // a name that no file can have
  SLUICE_TRY(done.key, key_of(promotion.dir, files));
  SLUICE_TRY(done.paths, baseline_paths(promotion.dir, done.key));
  // Before a folder is made, and again beside what is stored by then.
  SLUICE_TRY(done.doubts,
             accepted_doubts(promotion, files, read_baseline(promotion.dir, done.key)));
  SLUICE_CHECK(create_folders(promotion.dir));
  SLUICE_TRY(const FileLock lock, lock_baselines(promotion.dir, promotion.cancel_fd));
  SLUICE_TRY(done.doubts,
             accepted_doubts(promotion, files, read_baseline(promotion.dir, done.key, lock)));
  SLUICE_TRY(const Json document, metrics_document(promotion.run));
  const std::string metrics = dump_json(document) + "\n";
  const std::string eval = files.eval ? dump_json(*files.eval) + "\n" : std::string();
  SLUICE_TRY(const Replacement history, replacement(done.paths.history, ""));
  SLUICE_TRY(const std::vector<Visit> visits, read_history(done.paths.history));
  const std::string digest = sha256_hex(metrics);
  if (history.before && history.before->find(digest) != std::string::npos)
    return refused(promotion.run, "the history already holds this run");
  std::error_code ignored;
  if (promotion.without_eval && fs::exists(done.paths.eval, ignored))
    return refused(promotion.run,
                   fmt::format("{} would be left over from another run", shown(done.paths.eval)));
  std::string lines = history.before.value_or("");
  if (!lines.empty() && lines.back() != '\n') lines += '\n';
  lines += dump_json(entry_of(promotion, files, metrics, eval, done.doubts), -1) + "\n";
  std::vector<Replacement> all;
  SLUICE_TRY(Replacement first, replacement(done.paths.metrics, metrics));
  all.push_back(std::move(first));
  if (files.eval) {
    SLUICE_TRY(Replacement second, replacement(done.paths.eval, eval));
    all.push_back(std::move(second));
  }
  all.push_back({done.paths.history, std::move(lines), history.before});
  SLUICE_CHECK(replace_all(all));
  done.visits = visits.size() + 1;
  return done;
}

}  // namespace sluice::gate
