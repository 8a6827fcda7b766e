// sluice/gate/compare/compare.cpp - matches rows, judges them, and says why the sets may not be
// comparable.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/compare.h"

#include "sluice/core/text.h"
#include "sluice/gate/compare/judge.h"
#include "sluice/gate/compare/training_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace sluice::gate {
namespace {

Status check_options(const CompareOptions& options) {
  if (!(options.threshold >= 0 && options.threshold < 1)) {
    return Error{
        Errc::usage,
        fmt::format("threshold: {} given, 0 to below 1 accepted (0.05 is 5 %)", options.threshold)};
  }
  SLUICE_CHECK(stats::require_fraction(options.alpha, "alpha"));
  SLUICE_CHECK(stats::require_fraction(options.confidence, "confidence"));
  SLUICE_CHECK(stats::require_fraction(options.power, "power"));
  if (options.min_runs < 2) {
    return Error{Errc::usage,
                 fmt::format("min_runs: {} given, at least 2 accepted", options.min_runs)};
  }
  return ok;
}

std::vector<Prepared> match(const analysis::PooledRows& base, const analysis::PooledRows& candidate,
                            const CompareOptions& options) {
  std::vector<Prepared> out;
  for (const analysis::PooledRow& row : base.rows) {
    out.push_back(prepare(&row, candidate.find(analysis::key_of(row.row)), options));
  }
  for (const analysis::PooledRow& row : candidate.rows) {
    if (base.find(analysis::key_of(row.row)) == nullptr)
      out.push_back(prepare(nullptr, &row, options));
  }
  return out;
}

using Texts = std::set<std::string>;

Texts collect(const analysis::ResultSet& set,
              const std::function<std::string(const results::ResultFile&)>& field) {
  Texts out;
  for (const results::ResultFile& file : set.files)
    out.insert(field(file));
  return out;
}

std::string listed(const Texts& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    parts.push_back(text.empty() ? "none" : printable(text));
  return join(parts);
}

std::string timing_text(const results::ResultFile& file) {
  const results::Timing& t = file.timing;
  return fmt::format("{} from {}{}{}{}", t.scope, t.data_source,
                     t.includes_decode ? " +decode" : "", t.includes_collate ? " +collate" : "",
                     t.includes_transfer ? " +transfer" : "");
}

void warn_if_different(std::vector<std::string>& warnings, const char* what,
                       const char* consequence, const analysis::ResultSet& base,
                       const analysis::ResultSet& candidate,
                       const std::function<std::string(const results::ResultFile&)>& field) {
  const Texts in_base = collect(base, field);
  const Texts in_candidate = collect(candidate, field);
  if (in_base == in_candidate) return;
  warnings.push_back(fmt::format("different {}: base {}, candidate {}; {}", what, listed(in_base),
                                 listed(in_candidate), consequence));
}

void warn_about_files(std::vector<std::string>& warnings, const analysis::ResultSet& base,
                      const analysis::ResultSet& candidate) {
  warn_if_different(warnings, "machine profile", "ratios compare machines, not code", base,
                    candidate, [](const auto& file) { return file.machine_profile; });
  warn_if_different(warnings, "schema version", "fields may mean different things", base, candidate,
                    [](const auto& file) { return std::to_string(file.schema_version); });
  warn_if_different(warnings, "dataset hash", "the work is not the same", base, candidate,
                    [](const auto& file) { return file.dataset.hash; });
  warn_if_different(warnings, "timing scope", "the timed work is not the same", base, candidate,
                    timing_text);
  using File = results::ResultFile;
  warn_if_different(warnings, "last block", "the work is not the same", base, candidate,
                    [](const File& file) { return last_block_of(file); });
  warn_if_different(warnings, "MFU estimator", "their MFU are not the same figure", base, candidate,
                    [](const File& file) { return estimator_of(file); });
}

std::string names(const std::vector<std::string>& labels) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown(
      labels.begin(),
      labels.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, labels.size())));
  for (std::string& text : shown)
    text = printable(text);
  const std::string rest =
      labels.size() > kShown ? fmt::format(" and {} more", labels.size() - kShown) : "";
  return join(shown) + rest;
}

// What is odd about the runs of one side.
void warn_about_runs(std::vector<std::string>& warnings, const analysis::PooledRows& rows,
                     const char* where) {
  std::vector<std::string> pooled;
  std::vector<std::string> throttled;
  for (const analysis::PooledRow& row : rows.rows) {
    if (row.files > 1) pooled.push_back(row.row.case_name);
    if (std::any_of(row.row.runs.begin(), row.row.runs.end(),
                    [](const measure::Run& run) { return run.throttled; })) {
      throttled.push_back(row.row.case_name);
    }
  }
  if (!pooled.empty()) {
    warnings.push_back(fmt::format(
        "{}: runs of several files are pooled for {}; runs of one session are alike, so p "
        "is too small",
        where, names(pooled)));
  }
  if (!throttled.empty()) {
    warnings.push_back(fmt::format("{}: the kernel throttled runs of {}", where, names(throttled)));
  }
}

void warn_about_pairs(std::vector<std::string>& warnings, const analysis::PooledRows& base,
                      const analysis::PooledRows& candidate) {
  std::vector<std::string> changed;
  Texts updated;  // other libraries; of ours the versions are what is compared
  std::size_t shared = 0;
  for (const analysis::PooledRow& row : base.rows) {
    const analysis::PooledRow* other = candidate.find(analysis::key_of(row.row));
    if (other == nullptr) continue;
    const std::string& version = row.row.library_version;
    const std::string& version_now = other->row.library_version;
    if (row.row.library != "sluice" && !version.empty() && !version_now.empty() &&
        version != version_now) {
      updated.insert(fmt::format("{} (base {}, candidate {})", printable(row.row.library),
                                 printable(version), printable(version_now)));
    }
    const std::string& digest = row.row.output_digest;
    if (!digest.empty() && !other->row.output_digest.empty() &&
        digest != other->row.output_digest) {
      changed.push_back(row.row.case_name);
    }
    Texts ids;
    for (const measure::Run& run : row.row.runs)
      ids.insert(run.run_id);
    for (const measure::Run& run : other->row.runs) {
      if (!run.run_id.empty() && ids.count(run.run_id) > 0) ++shared;
    }
  }
  if (!changed.empty()) {
    warnings.push_back("different output for " + names(changed) + "; the work is not the same");
  }
  if (!updated.empty()) {
    warnings.push_back(
        fmt::format("different versions of {}; their rows compare versions of the library",
                    join({updated.begin(), updated.end()})));
  }
  if (shared > 0) {
    warnings.push_back(fmt::format(
        "base and candidate share {} runs: the same measurement on both sides", shared));
  }
}

// Canary rows are judged like any other to know whether the machine changed, but the answer is a
// remark, not a verdict.
Status compare_machine(Comparison& out, const analysis::ResultSet& base,
                       const analysis::ResultSet& candidate) {
  CompareOptions options = out.options;
  options.allow_missing = true;
  std::vector<Prepared> rows =
      match(analysis::pool_canary(base), analysis::pool_canary(candidate), options);
  SLUICE_CHECK(judge(rows, options));
  for (Prepared& prepared : rows) {
    RowComparison& row = prepared.row;
    if (row.verdict == GateStatus::fail || row.verdict == GateStatus::improved) {
      out.warnings.push_back(fmt::format("the machine itself changed: canary {} is {}",
                                         printable(row.case_name), row.reason));
    }
    row.reason = "machine: " + row.reason.substr(0, row.reason.find(';'));
    row.verdict = GateStatus::skip;
    out.machine.push_back(std::move(row));
  }
  return ok;
}

/// What a reader must act on first: what got slower, the worst on top, what is gone and what fails
/// now.
bool comes_before(const RowComparison& a, const RowComparison& b) {
  const auto rank = [](const RowComparison& row) {
    if (row.verdict == GateStatus::fail) return row.missing ? 1 : 0;
    return row.verdict == GateStatus::invalid ? 2 : 3;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return rank(a) == 0 && *a.ratio_point < *b.ratio_point;
}

void count(Comparison& out) {
  Counts& counts = out.counts;
  std::vector<GateLine> lines;
  for (const RowComparison& row : out.rows) {
    lines.emplace_back().status = row.verdict;
    switch (row.verdict) {
      case GateStatus::fail:
        ++counts.fail;
        if (row.missing) ++counts.missing;
        break;
      case GateStatus::improved:
        ++counts.improved;
        break;
      case GateStatus::pass:
        ++counts.pass;
        break;
      case GateStatus::inconclusive:
        ++counts.inconclusive;
        break;
      case GateStatus::invalid:
        ++counts.invalid;
        break;
      case GateStatus::warn:  // a comparison gives none
      case GateStatus::skip:
        ++counts.skip;
        break;
    }
  }
  out.outcome = overall(lines);
}

std::string summary_line(const Comparison& comparison) {
  const Counts& counts = comparison.counts;
  std::vector<std::string> parts;
  const auto add = [&](int n, const std::string& what) {
    if (n > 0) parts.push_back(fmt::format("{} {}", n, what));
  };
  add(counts.fail - counts.missing, "slower");
  add(counts.missing, "missing in candidate");
  add(counts.invalid, "failed in candidate or unlike base");
  add(counts.improved, "faster");
  add(counts.pass, "passed");
  add(counts.inconclusive, "inconclusive");
  add(counts.skip, "not comparable");
  const std::string text = parts.empty() ? "no rows" : join(parts);
  return fmt::format("{}: {} (threshold {:g} %, alpha {:g})", to_string(comparison.outcome), text,
                     100 * comparison.options.threshold, comparison.options.alpha);
}

bool is_transform(const measure::Row& row, const std::string& name) {
  const auto param = row.params.find("transform");
  if (param != row.params.end()) return param->second == name;
  return row.case_name.substr(row.case_name.rfind('/') + 1) == name;
}

bool is_library(const measure::Row& row, const std::string& name) {
  return row.library == name;
}

using IsNamed = bool (*)(const measure::Row& row, const std::string& name);

bool any_row(const analysis::ResultSet& set, IsNamed is, const std::string& name) {
  return std::ranges::any_of(set.files, [&](const results::ResultFile& file) {
    return std::ranges::any_of(file.rows, [&](const measure::Row& row) { return is(row, name); });
  });
}

/// Every name that is asked for must be met: a slip would compare nothing, and pass.
Status check_met(const analysis::ResultSet& base, const analysis::ResultSet& candidate,
                 const char* flag, IsNamed is, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (any_row(base, is, name) || any_row(candidate, is, name)) continue;
    return Error{Errc::usage,
                 fmt::format("{} {}: neither {} nor {} has such a row", flag, printable(name),
                             printable(base.name), printable(candidate.name))};
  }
  return ok;
}

/// The rows that options.libraries and options.transforms name.
analysis::ResultSet chosen(const analysis::ResultSet& set, const CompareOptions& options) {
  const auto named = [](const measure::Row& row, const std::vector<std::string>& names,
                        IsNamed is) {
    return names.empty() ||
           std::ranges::any_of(names, [&](const std::string& name) { return is(row, name); });
  };
  analysis::ResultSet some = set;
  for (results::ResultFile& file : some.files)
    std::erase_if(file.rows, [&](const measure::Row& row) {
      return !named(row, options.libraries, is_library) ||
             !named(row, options.transforms, is_transform);
    });
  return some;
}

}  // namespace

Result<Comparison> compare(const analysis::ResultSet& base, const analysis::ResultSet& candidate,
                           const CompareOptions& options) {
  SLUICE_CHECK(check_options(options));
  for (const analysis::ResultSet* set : {&base, &candidate}) {
    if (set->files.empty()) {
      return Error{Errc::invalid_input, fmt::format("{}: no result file given, at least one needed",
                                                    printable(set->name))};
    }
  }
  if (!options.libraries.empty() || !options.transforms.empty()) {
    CompareOptions all = options;
    all.libraries.clear();
    all.transforms.clear();
    SLUICE_CHECK(check_met(base, candidate, "--libraries", is_library, options.libraries));
    SLUICE_CHECK(check_met(base, candidate, "--transforms", is_transform, options.transforms));
    return compare(chosen(base, options), chosen(candidate, options), all);
  }
  Comparison out;
  out.base_name = base.name;
  out.candidate_name = candidate.name;
  out.options = options;
  const analysis::PooledRows base_rows = analysis::pool_rows(base);
  const analysis::PooledRows candidate_rows = analysis::pool_rows(candidate);
  warn_about_files(out.warnings, base, candidate);
  warn_about_runs(out.warnings, base_rows, "base");
  warn_about_runs(out.warnings, candidate_rows, "candidate");
  warn_about_pairs(out.warnings, base_rows, candidate_rows);

  std::vector<Prepared> rows = match(base_rows, candidate_rows, options);
  SLUICE_CHECK(judge(rows, options));
  for (Prepared& prepared : rows)
    out.rows.push_back(std::move(prepared.row));
  std::stable_sort(out.rows.begin(), out.rows.end(), comes_before);
  SLUICE_CHECK(compare_machine(out, base, candidate));
  count(out);
  out.summary = summary_line(out);
  return out;
}

Result<Comparison> compare(const results::ResultFile& base, const results::ResultFile& candidate,
                           const CompareOptions& options) {
  return compare(analysis::ResultSet{"base", {base}}, analysis::ResultSet{"candidate", {candidate}},
                 options);
}

Result<Comparison> compare_paths(const std::filesystem::path& base,
                                 const std::filesystem::path& candidate,
                                 const CompareOptions& options) {
  SLUICE_TRY(const auto base_set, analysis::read_set(base));
  SLUICE_TRY(const auto candidate_set, analysis::read_set(candidate));
  return compare(base_set, candidate_set, options);
}

}  // namespace sluice::gate
