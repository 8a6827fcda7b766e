// sluice/visit/storage/rows.cpp - which reads are measured, at which sizes, modes and
// concurrencies.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/storage/rows.h"

#include "sluice/measure/axes.h"

#include <algorithm>
#include <map>

namespace sluice::visit {
namespace {

using scenario::StorageInput;

constexpr std::uint64_t kRandomRead = 4096;
/// What a row adds to its input.
struct RowChoice {
  std::string pattern;
  std::string mode;  // empty: remote
  bool cold = true;
  int concurrency = 1;
  std::uint64_t size = 0;  // 0: none
  std::uint64_t smallest = 0;
};

measure::SubjectSpec row_of(const StoragePlan& plan, const RowChoice& choice,
                            const std::vector<std::string>& worker) {
  measure::State state;
  if (!choice.mode.empty()) {
    state.values["mode"] = choice.mode;
    if (choice.mode != "direct") state.values["cache"] = choice.cold ? "cold" : "warm";
  }
  state.values["concurrency"] = std::to_string(choice.concurrency);
  if (choice.size != 0) state.values["size"] = std::to_string(choice.size);
  StorageInput input = choice.pattern == "get" ? plan.objects : plan.large;
  if (!choice.mode.empty()) input.read_mode = choice.mode;
  input.concurrency = choice.concurrency;

  measure::SubjectSpec row;
  row.case_name = measure::case_name("storage/" + choice.pattern, state);
  row.params = state.values;
  row.command = worker;
  row.threads = choice.concurrency;
  row.cpu_limit = 2.0 * choice.concurrency + 1;  // threads that wait, and the system's own work
  row.unit = choice.pattern == "sequential" ? "MB/s"
             : choice.pattern == "random"   ? "reads/s"
                                            : "objects/s";
  row.spec = scenario::to_json(input);
  row.spec["cold"] = choice.cold;
  row.spec["operations"] = plan.operations;
  row.spec["max_bytes"] = plan.bytes;
  if (choice.pattern == "random") row.spec["size"] = choice.size;
  if (choice.pattern == "get") {
    row.spec["smallest"] = choice.smallest;
    row.spec["largest"] = choice.size;
  }
  return row;
}

/// The sizes of `objects` by the classes of the plan: upper end (or, above the last, the largest
/// object) to lower end; only classes that have an object.
std::map<std::uint64_t, std::uint64_t> classes_of(const std::vector<std::uint64_t>& sizes,
                                                  const std::vector<storage::Object>& objects) {
  std::map<std::uint64_t, std::uint64_t> classes;
  std::uint64_t largest = 0;
  for (const storage::Object& object : objects) {
    largest = std::max(largest, object.size);
    const auto upper = std::lower_bound(sizes.begin(), sizes.end(), object.size);
    if (upper == sizes.end()) continue;
    classes[*upper] = upper == sizes.begin() ? 1 : *(upper - 1) + 1;
  }
  if (largest > sizes.back()) classes[largest] = sizes.back() + 1;
  return classes;
}

}  // namespace

std::vector<measure::SubjectSpec> storage_rows(const StoragePlan& plan,
                                               const std::vector<storage::Object>& large,
                                               const std::vector<storage::Object>& objects,
                                               const std::vector<std::string>& worker) {
  std::vector<RowChoice> rows;
  const bool remote = plan.large.remote();
  const std::vector<std::string> modes = remote ? std::vector<std::string>{""} : plan.modes;
  const auto add = [&](RowChoice choice, bool also_warm) {
    rows.push_back(choice);
    if (!also_warm || remote || choice.mode == "direct") return;
    choice.cold = false;
    rows.push_back(choice);
  };
  std::uint64_t total = 0;
  std::uint64_t longest = 0;
  for (const storage::Object& object : large) {
    total += object.size;
    longest = std::max(longest, object.size);
  }
  if (total >= scenario::kSequentialRead) {
    for (const std::string& mode : modes)
      add({.pattern = "sequential", .mode = mode}, true);
  }
  if (longest >= kRandomRead) {
    for (const std::string& mode : modes) {
      for (const int at_once : plan.concurrency)
        add({.pattern = "random", .mode = mode, .concurrency = at_once, .size = kRandomRead},
            plan.warm);
    }
  }
  for (const auto& [size, smallest] : classes_of(plan.sizes, objects)) {
    for (const int at_once : plan.concurrency) {
      add({.pattern = "get",
           .mode = modes.front(),
           .concurrency = at_once,
           .size = size,
           .smallest = smallest},
          plan.warm);
    }
  }
  std::vector<measure::SubjectSpec> specs;
  for (const RowChoice& choice : rows)
    specs.push_back(row_of(plan, choice, worker));
  return specs;
}

}  // namespace sluice::visit
