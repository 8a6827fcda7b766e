// sluice/cli/flags/storage.cpp - one table of flags, and what they come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/storage.h"

#include "sluice/cli/flags/sampling.h"
#include "sluice/core/text.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <vector>

namespace sluice::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40U;
constexpr int kMostConcurrency = 256;
const std::vector<std::string> kModes = {"buffered", "mmap", "direct"};

Result<std::vector<std::string>> modes_of(const std::string& text, bool remote) {
  if (remote) {
    if (!text.empty())
      return usage_error(fmt::format("--modes {}: for local inputs only; leave it out for a bucket",
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

measure::Policy storage_policy(const StorageFlags& flags, const Globals& globals) {
  measure::Policy policy;
  policy.runs = flags.runs;
  policy.samples_per_run = flags.samples;
  policy.min_sample_ms = 0;  // one pass: a second one would find in memory what the first one read
  policy.warmup_ms = 10;
  policy.warmup_limit_ms = 10;
  policy.slow_item_s = 0;
  policy.step_timeout_s = flags.timeout_s;
  policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  policy.data_seed = globals.seed;
  return policy;
}

}  // namespace

void add_storage_flags(CLI::App& command, StorageFlags& flags) {
  add_value(
      command, "--input", flags.input, "DIR|URI",
      "folder, file, s3://bucket/prefix or gs://bucket/prefix; without it files are generated");
  add_value(command, "--endpoint", flags.endpoint, "URL",
            "server of the bucket; default: the vendor's");
  command.add_option("--region", flags.region, "region of the bucket");
  command.add_flag("--anonymous", flags.anonymous, "send requests unsigned, without credentials");
  command.add_option(
      "--modes", flags.modes,
      "ways to read files; whole objects are read the first way (default buffered,mmap,direct)");
  command.add_option("--sizes", flags.sizes,
                     "sizes of objects: upper limits of the classes of the input, or sizes to "
                     "generate (default 16k,128k,1m,8m)");
  command.add_option("--concurrency", flags.concurrency, "numbers of reads at once (default 1,4)");
  command.add_option("--bytes", flags.bytes,
                     "most bytes to read per pass, and size of the generated file (default 128m; "
                     "32m for a bucket)");
  command
      .add_option("--operations", flags.operations,
                  "most reads per pass (default 512; 64 for a bucket)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command.add_flag("--warm", flags.warm, "also measure random reads and whole objects from memory");
  add_runs_flag(command, flags.runs);
  add_samples_flag(command, flags.samples, "timed passes per run");
  add_timeout_flag(command, flags.timeout_s);
}

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
    return usage_error(
        fmt::format("{} '{}': expected bytes such as 4096, 4k, 1m or 1g, from 1 to 1024g", flag,
                    printable(text)));
  }
  return value * unit;
}

Result<visit::StoragePlan> storage_plan(const StorageFlags& flags, const Globals& globals) {
  visit::StoragePlan plan;
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
    return usage_error("--warm: for local inputs only; leave it out for a bucket");
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
  plan.policy = storage_policy(flags, globals);
  return plan;
}

}  // namespace sluice::cli
