// sluice/visit/loader/rows.cpp - specs of rows out of flags.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/rows.h"

#include "sluice/core/text.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::visit {
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
  if (library == "torchcodec" || library == "pyav") return kClipCase;
  return library == "torch-albumentationsx" ? "loader/rrc224" : "loader/rrc224-antialias";
}

const measure::Row* find_row(const results::ResultFile& file, const std::string& case_name) {
  for (const measure::Row& row : file.rows)
    if (row.case_name == case_name && row.library == "sluice" && row.summary) return &row;
  return nullptr;
}

double mean_of(const measure::Row* row) {
  return row != nullptr && row->summary ? row->summary->mean : 0;
}

}  // namespace sluice::visit
