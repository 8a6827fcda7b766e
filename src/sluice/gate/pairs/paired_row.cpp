// sluice/gate/pairs/paired_row.cpp - finds the row and takes its rate.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_row.h"

#include "sluice/core/text.h"
#include "sluice/gate/pairs/paired_rule.h"
#include "sluice/measure/summary.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sluice::gate {
namespace {

constexpr double kLoaderTau = 0.05, kStorageTau = 0.10;
constexpr const char* kOurs = "sluice";

struct Wanted {
  std::string library;  // empty: any
  std::string case_name;
};

Wanted wanted(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {{}, name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

Error no_such_row(const analysis::PooledRows& rows, const analysis::ResultSet& set,
                  const std::string& name) {
  std::vector<std::string> cases;
  for (const analysis::PooledRow& one : rows.rows)
    cases.push_back(one.row.case_name);
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  std::string hint;
  if (const auto near = nearest(wanted(name).case_name, cases)) {
    hint = fmt::format("; did you mean {}?", printable(*near));
  } else if (!cases.empty()) {
    if (cases.size() > 8) cases.resize(8);
    hint = fmt::format("; there are {}", printable(join(cases)));
  }
  return {Errc::not_found,
          fmt::format("{}: no row {}{}", printable(set.name), printable(name), hint)};
}

}  // namespace

Result<RowValue> row_value(const analysis::ResultSet& set, const std::string& name) {
  const analysis::PooledRows rows = analysis::pool_rows(set);
  const Wanted which = wanted(name);
  std::vector<const analysis::PooledRow*> found;
  for (const analysis::PooledRow& one : rows.rows) {
    const bool library = which.library.empty() || one.row.library == which.library;
    if (library && one.row.case_name == which.case_name) found.push_back(&one);
  }
  if (found.empty()) return no_such_row(rows, set, name);
  if (found.size() > 1) {
    const auto others =
        std::remove_if(found.begin(), found.end(),
                       [](const analysis::PooledRow* one) { return one->row.library != kOurs; });
    if (others != found.begin()) found.erase(others, found.end());
  }
  if (found.size() > 1)
    return Error{Errc::invalid_input,
                 fmt::format("{}: {} rows {}; name one as LIBRARY:CASE", printable(set.name),
                             found.size(), printable(name))};
  const measure::Row& row = found[0]->row;
  if (row.status != measure::RowStatus::ok)
    return Error{Errc::measurement,
                 fmt::format("{}: row {} is {}: {}", printable(set.name), printable(name),
                             measure::to_string(row.status), printable(row.reason))};
  const auto rate = stats::geometric_mean(measure::run_rates(row));
  if (!rate)
    return Error{Errc::measurement, fmt::format("{}: row {} has no timed samples",
                                                printable(set.name), printable(name))};
  const bool higher = row.better == measure::Better::higher;
  return RowValue{higher ? *rate : 1 / *rate, row.unit, row.better};
}

Status FreshResults::add(const analysis::ResultSet& set, std::int64_t start_ns,
                         std::int64_t end_ns) {
  constexpr std::int64_t kStepNs = 1'000'000;  // of a coarse clock
  const auto refuse = [&](const std::string& what) {
    return Error{Errc::measurement,
                 fmt::format("{}: {}; every run of a command must measure anew, on this machine",
                             printable(set.name), what)};
  };
  for (const results::ResultFile& file : set.files) {
    if (sessions_.count(file.session_id) > 0)
      return refuse(fmt::format("session {} was there before", printable(file.session_id)));
    for (const measure::Row& row : file.rows) {
      if (row.status != measure::RowStatus::ok) continue;
      for (const measure::Run& run : row.runs) {
        const double last_ns = std::accumulate(
            run.samples_ns.begin(), run.samples_ns.end(), static_cast<double>(run.start_ns),
            [](double sum, std::int64_t ns) { return sum + static_cast<double>(ns); });
        if (run.start_ns < start_ns - kStepNs || last_ns > static_cast<double>(end_ns + kStepNs))
          return refuse(fmt::format(
              "{} has samples from {:.3f} to {:.3f} s of this machine's clock, but the command ran "
              "from {:.3f} to {:.3f} s",
              printable(row.case_name), static_cast<double>(run.start_ns) * 1e-9, last_ns * 1e-9,
              static_cast<double>(start_ns) * 1e-9, static_cast<double>(end_ns) * 1e-9));
      }
    }
  }
  for (const results::ResultFile& file : set.files)
    sessions_.insert(file.session_id);
  return ok;
}

double default_tau(const std::string& metric) {
  const std::string case_name = wanted(metric).case_name;
  if (case_name.starts_with("storage/")) return kStorageTau;
  if (case_name.starts_with("loader/")) return kLoaderTau;
  return PairedOptions{}.tau;
}

}  // namespace sluice::gate
