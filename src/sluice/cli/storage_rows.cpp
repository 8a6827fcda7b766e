// sluice/cli/storage_rows.cpp - which reads are measured, at which sizes, modes and concurrencies.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/storage_rows.h"

#include "sluice/cli/command.h"
#include "sluice/core/text.h"
#include "sluice/measure/axes.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace sluice::cli {
namespace {

using scenario::StorageInput;

constexpr std::uint64_t kRandomRead = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40U;
constexpr int kMostConcurrency = 256;
const std::vector<std::string> kModes = {"buffered", "mmap", "direct"};

Result<std::vector<std::string>> modes_of(const std::string& text, bool remote) {
  if (remote) {
    if (!text.empty())
      return usage_error(fmt::format("--modes {}: are for local inputs; leave it out for a bucket",
                                     printable(text)));
    return std::vector<std::string>{};
  }
  if (text.empty()) return kModes;
  const std::vector<std::string> modes = split(text, ',');
  for (const std::string& mode : modes) {
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end()) {
      return usage_error(fmt::format("--modes {}: '{}' is not one of {}", printable(text),
                                     printable(mode), join(kModes)));
    }
  }
  return modes;
}

Result<std::vector<std::uint64_t>> sizes_of(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split(text.empty() ? "16k,128k,1m,8m" : text, ',')) {
    SLUICE_TRY(const std::uint64_t size, parse_bytes(part, "--sizes"));
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

Result<std::vector<int>> concurrency_of(const std::string& text) {
  std::vector<int> values;
  for (const std::string& part : split(text.empty() ? "1,4" : text, ',')) {
    int value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() || value < 1 ||
        value > kMostConcurrency) {
      return usage_error(fmt::format("--concurrency {}: '{}' is not a number from 1 to {}",
                                     printable(text), printable(part), kMostConcurrency));
    }
    values.push_back(value);
  }
  return values;
}

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

Result<std::uint64_t> parse_bytes(const std::string& text, const std::string& flag) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  std::uint64_t unit = 1;
  const std::string suffix(parsed.ptr, end);
  if (suffix == "k" || suffix == "K") unit = std::uint64_t{1} << 10U;
  if (suffix == "m" || suffix == "M") unit = std::uint64_t{1} << 20U;
  if (suffix == "g" || suffix == "G") unit = std::uint64_t{1} << 30U;
  if (parsed.ec != std::errc() || value == 0 || (unit == 1 && !suffix.empty()) ||
      value > kMostBytes / unit) {
    return usage_error(fmt::format(
        "{} '{}': bytes are given as 4096, 4k, 1m or 1g, from 1 to 1024g", flag, printable(text)));
  }
  return value * unit;
}

Result<StoragePlan> storage_plan(const StorageFlags& flags) {
  StoragePlan plan;
  if (!flags.input.empty()) {
    SLUICE_TRY(const storage::Uri place, storage::parse_uri(flags.input));
    const bool in_bucket = place.scheme != storage::Scheme::path;
    plan.large.input = in_bucket ? flags.input : place.path.string();
  }
  plan.large.endpoint = flags.endpoint;
  plan.large.region = flags.region;
  plan.large.anonymous = flags.anonymous;
  plan.objects = plan.large;
  const bool remote = plan.large.remote();
  if (!remote && (!flags.endpoint.empty() || !flags.region.empty() || flags.anonymous))
    return usage_error("--endpoint, --region and --anonymous: need --input s3://... or gs://...");
  if (remote && flags.warm)
    return usage_error("--warm: is for local inputs; leave it out for a bucket");
  SLUICE_TRY(plan.modes, modes_of(flags.modes, remote));
  SLUICE_TRY(plan.sizes, sizes_of(flags.sizes));
  SLUICE_TRY(plan.concurrency, concurrency_of(flags.concurrency));
  SLUICE_TRY(plan.bytes,
             parse_bytes(flags.bytes.empty() ? (remote ? "32m" : "128m") : flags.bytes, "--bytes"));
  if (plan.bytes < scenario::kSequentialRead)
    return usage_error(fmt::format("--bytes {}: at least 1m is needed", printable(flags.bytes)));
  plan.operations = flags.operations > 0 ? static_cast<std::uint64_t>(flags.operations)
                    : remote             ? 64
                                         : 512;
  plan.warm = flags.warm;
  return plan;
}

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

}  // namespace sluice::cli
