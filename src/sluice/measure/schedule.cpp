// sluice/measure/schedule.cpp - order, digests, slowness, thread policy.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/schedule.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <numeric>
#include <span>

namespace sluice::measure {

std::vector<std::size_t> shuffled(std::size_t n, const RngKey& key) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng(key);
  rng.shuffle(std::span<std::size_t>(order));
  return order;
}

std::size_t padding_bytes(const RngKey& key) {
  constexpr std::size_t kMostBytes = 4096;
  Rng rng(key);
  return static_cast<std::size_t>(rng.below(kMostBytes));
}

Run new_run(const std::string& session_id, const Row& row, int block, std::int64_t pid) {
  Run run;
  run.run_id = fmt::format("{}/{}/{}/{}", session_id, row.case_name, row.library, block);
  run.pid = pid;
  run.block = block;
  return run;
}

Status keep_digest(Row& row, const std::string& digest, const char* between) {
  if (row.output_digest.empty()) row.output_digest = digest;
  if (row.output_digest == digest) return ok;
  return Error{Errc::measurement,
               fmt::format("check: output differs between {} (digest {}, earlier {})", between,
                           printable(digest), printable(row.output_digest))};
}

bool stopped_early(Row& row, std::int64_t pass_ns, std::int64_t items, const Policy& policy) {
  const double item_s = static_cast<double>(pass_ns) * 1e-9 / static_cast<double>(items);
  if (policy.slow_item_s <= 0 || item_s < policy.slow_item_s) return false;
  row.status = RowStatus::early_stopped;
  row.reason =
      fmt::format("preflight: {:.3g} s per item, the limit is {:g} s", item_s, policy.slow_item_s);
  return true;
}

Result<std::int64_t> items_per_sample(std::int64_t items_per_pass, std::int64_t passes) {
  std::int64_t items = 0;
  if (__builtin_mul_overflow(items_per_pass, passes, &items))
    return Error{Errc::measurement,
                 fmt::format("prepare: items_per_pass is {}; expected a number whose sample can be "
                             "counted",
                             items_per_pass)};
  return items;
}

Status hold_thread_policy(const Row& row, double limit) {
  const ThreadPolicy& threads = row.thread_policy;
  if (threads.cpu_per_wall <= limit) return ok;
  return Error{Errc::measurement,
               fmt::format("thread policy violated: {:.2f} cores busy, {}", threads.cpu_per_wall,
                           threads.name.empty()
                               ? fmt::format("{} asked for", threads.asked)
                               : fmt::format("{} asks for {}", threads.name, threads.asked))};
}

void fail(Row& row, const Error& error) {
  row.status = error.code == Errc::unsupported ? RowStatus::unsupported : RowStatus::failed;
  row.reason = error.message;
}

}  // namespace sluice::measure
