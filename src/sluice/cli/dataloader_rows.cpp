// sluice/cli/dataloader_rows.cpp - specs of rows out of flags.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/dataloader_rows.h"

#include "sluice/cli/command.h"
#include "sluice/core/text.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/policy.h"
#include "sluice/peers/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::cli {
namespace {

std::vector<std::string> library_names(const std::string& mode) {
  std::vector<std::string> names;
  for (const peers::Library& library : peers::libraries())
    if (library.way(mode) != nullptr) names.emplace_back(library.name);
  return names;
}

}  // namespace

measure::SubjectSpec RowMaker::ours(const std::string& case_name, const Json& over,
                                    const std::map<std::string, std::string>& axes) const {
  measure::SubjectSpec spec;
  measure::State state;
  state.values = axes;
  spec.case_name = measure::case_name(case_name, state);
  spec.spec = loader_spec_json(plan, input, seed);
  if (over.is_object()) spec.spec.update(over);
  spec.params = axes;
  for (const char* key : {"batch_size", "workers", "prefetch"})
    spec.params[key] = spec.spec[key].dump();
  spec.command = worker;
  spec.threads = std::max(1, spec.spec["workers"].get<int>());
  spec.thread_policy = measure::kLoaderThreads;
  spec.cpu_limit = measure::kNoCpuLimit;
  spec.unit = "samples/s";
  return spec;
}

std::vector<measure::SubjectSpec> RowMaker::swept() const {
  std::vector<measure::SubjectSpec> rows;
  if (plan.sweep.empty()) return rows;
  const auto or_else = [](const std::vector<int>& values, int fallback) {
    return values.empty() ? std::vector<int>{fallback} : values;
  };
  const std::vector<int> prefetches = or_else(plan.sweep.prefetch, plan.loader.prefetch);
  for (const int workers : or_else(plan.sweep.workers, plan.loader.workers)) {
    for (const int prefetch : prefetches) {
      if (workers == 0 && prefetch != prefetches.front()) continue;  // nothing is made ahead
      rows.push_back(
          ours(base_case(input), Json{{"workers", workers}, {"prefetch", prefetch}},
               {{"workers", std::to_string(workers)}, {"prefetch", std::to_string(prefetch)}}));
    }
  }
  return rows;
}

std::string case_of_library(const std::string& library) {
  return library == "torch-albumentationsx" ? "loader/rrc224" : "loader/rrc224-antialias";
}

Result<std::vector<std::string>> parse_libraries(const std::string& text, const std::string& mode,
                                                 bool ours_needed) {
  std::vector<std::string> names;
  for (const std::string& name : split(text, ',')) {
    const std::vector<std::string> known = library_names(mode);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, known);
      return usage_error(fmt::format(
          "--libraries {}: no {} library '{}'; {}", printable(text), mode, printable(name),
          near ? fmt::format("did you mean '{}'?", *near) : "accepted: " + join(known)));
    }
    if (std::find(names.begin(), names.end(), name) != names.end())
      return usage_error(fmt::format("--libraries {}: '{}' twice", printable(text), name));
    names.push_back(name);
  }
  if (ours_needed && std::find(names.begin(), names.end(), "sluice") == names.end())
    return usage_error(
        fmt::format("--libraries {}: 'sluice' is missing, which the others are compared "
                    "with",
                    printable(text)));
  return names;
}

Status parse_sweep(Sweep& sweep, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const bool workers = name == "workers";
  if (equals == std::string::npos || (!workers && name != "prefetch"))
    return usage_error(
        fmt::format("--sweep {}: expected workers=0,1,2,4 or prefetch=1,2,4", printable(text)));
  std::vector<int>& values = workers ? sweep.workers : sweep.prefetch;
  const int low = workers ? 0 : 1;
  for (const std::string& word : split(text.substr(equals + 1), ',')) {
    int value = -1;
    const char* end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || stop != end || value < low || value > 64)
      return usage_error(fmt::format("--sweep {}: '{}' is no number from {} to 64", printable(text),
                                     printable(word), low));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.empty()) return usage_error(fmt::format("--sweep {}: no value", printable(text)));
  return ok;
}

const measure::Row* find_row(const results::ResultFile& file, const std::string& case_name) {
  for (const measure::Row& row : file.rows)
    if (row.case_name == case_name && row.library == "sluice" && row.summary) return &row;
  return nullptr;
}

double mean_of(const measure::Row* row) {
  return row != nullptr && row->summary ? row->summary->mean : 0;
}

}  // namespace sluice::cli
