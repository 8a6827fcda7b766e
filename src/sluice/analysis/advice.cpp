// sluice/analysis/advice.cpp - a rule per change: the share of the loader's work that it leaves.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::analysis {
namespace {

constexpr double kBusyWorkers = 0.8;  // below, workers wait: more of them would wait too
constexpr int kMostWorkers = 64;
constexpr double kSure = 0.8;  // of a predicted gain: its lower end, for what the model leaves out
constexpr double kAtBest = 1.15;

/// Shares of the loader's time per batch that a change leaves; 1: it changes nothing.
struct Left {
  double most = 1;   // pessimist
  double least = 1;  // optimist
};

struct Shares {
  double read = 0;  // of the workers' busy time
  double work = 0;  // decode, augment and collate
};

Shares shares_of(const LoaderUse& use) {
  Shares shares;
  double sum = 0;
  for (const StageUse& stage : use.stages) {
    if (stage.name == "list") continue;  // once, before the first sample
    sum += stage.busy_s;
    if (stage.name == "read") shares.read += stage.busy_s;
    if (stage.name == "decode" || stage.name == "augment" || stage.name == "collate")
      shares.work += stage.busy_s;
  }
  if (sum > 0) shares = {shares.read / sum, shares.work / sum};
  return shares;
}

double worker_busy_share(const LoaderUse& use) {
  const double capacity_s = std::max(use.workers, 1) * use.wall_s;
  return capacity_s > 0 ? use.worker_busy_s / capacity_s : 0;
}

/// Time of all cores that the loader needs for a batch, in ms of wall time.
double core_ms(const AdviceFacts& facts) {
  const auto batches = static_cast<double>(facts.loader.batches);
  if (batches <= 0 || facts.setting.cores == 0) return 0;
  return facts.loader.cpu_s * 1e3 / batches / facts.setting.cores;
}

/// Of a step, when the loader keeps the share `left` of its work. The pessimist counts core time as
/// wall time; the optimist its share of what both need: on cores that others use too, both wait.
double saved_ms(const AdviceFacts& facts, double left, bool pessimist) {
  const double saved = (1 - left) * core_ms(facts);
  if (pessimist || facts.together_cpu_ms <= 0) return saved;
  const double share = saved * facts.setting.cores / facts.together_cpu_ms;
  return std::max(saved, std::min(share, 1.0) * facts.times.together.point);
}

/// T_E over T_E' when the loader keeps the share `left` of its time.
double gain_of(const AdviceFacts& facts, double left, bool saves_cores, bool rest_stays) {
  const double loader = facts.times.loader.point, model = facts.times.model.point;
  const double together = facts.times.together.point;
  const double ideal = std::max(loader, model);
  double after = std::max(model, loader * left);
  if (facts.setting.step_on_cores)  // the rest is that both want the same cores
    after = std::max(after, together - (saves_cores ? saved_ms(facts, left, rest_stays) : 0));
  else if (rest_stays && ideal > 0)
    after *= std::max(together / ideal, 1.0);
  return after > 0 ? std::max(together / after, 1.0) : 1;
}

void add(std::vector<Advice>& list, const AdviceFacts& facts, AdviceKind kind, Left left,
         bool saves_cores, std::string what, std::string how, int number = 0) {
  const double low = 1 + kSure * (gain_of(facts, left.most, saves_cores, true) - 1);
  const double high = 1 + kAtBest * (gain_of(facts, left.least, saves_cores, false) - 1);
  if (!(low >= kLeastGain)) return;
  list.push_back({kind,
                  std::move(what),
                  std::move(how),
                  number,
                  {std::sqrt(low * high), low, std::max(low, high)}});
}

/// Of a probed change of the work on a sample and of its bytes.
Left left_by(const ProbedChange& change, const Shares& shares) {
  const auto left = [&](double work) {
    return std::clamp(1 - shares.work * (1 - work) - shares.read * (1 - change.bytes) * 0.5, 0.01,
                      1.0);
  };
  return {left(change.work.high), left(change.work.low)};
}

void advise_work(std::vector<Advice>& list, const AdviceFacts& facts, const Shares& shares) {
  const ProbedData& probed = facts.probed;
  if (probed.scaled && !facts.setting.scaled)
    add(list, facts, AdviceKind::decode_scaled, left_by(*probed.scaled, shares), true,
        "decode JPEGs at the smallest scale that fills the crop", "--decode scaled");
  if (probed.smaller)
    add(list, facts, AdviceKind::smaller_images, left_by(*probed.smaller, shares), true,
        fmt::format("store smaller images, {} pixels at the shorter side", probed.shorter_side),
        fmt::format("sluice data shrink --input DIR --shorter-side {} --out SMALL",
                    probed.shorter_side),
        probed.shorter_side);
  if (probed.as_bytes && facts.setting.hands_floats && facts.verdict != Bottleneck::transfer)
    add(list, facts, AdviceKind::upload_bytes, left_by(*probed.as_bytes, shares), true,
        "hand over bytes and normalise on the device", "--upload uint8");
}

/// As many as the cores can feed: a worker that waits for storage leaves its core to another. What
/// is no read is computing, also where somebody else's processes have the core.
void advise_workers(std::vector<Advice>& list, const AdviceFacts& facts, const Shares& shares) {
  const LoaderUse& use = facts.loader;
  if (worker_busy_share(use) < kBusyWorkers || use.worker_busy_s <= 0) return;
  const double computing = std::max(use.cpu_s / use.worker_busy_s, 1 - shares.read);
  const double on_core = std::clamp(computing, 0.02, 1.0);
  const int now = std::max(facts.setting.workers, 1);
  const int most =
      std::min(kMostWorkers, static_cast<int>(std::ceil(facts.setting.cores / on_core)));
  const int wanted = std::min(most, now * 4);
  if (wanted <= now) return;
  const double floor = on_core * now / facts.setting.cores;  // when the cores are full
  const double least = std::clamp(std::max(static_cast<double>(now) / wanted, floor), 0.01, 1.0);
  add(list, facts, AdviceKind::more_workers, {1 - (1 - least) * 0.6, least}, false,
      fmt::format("use {} workers instead of {}", wanted, facts.setting.workers),
      fmt::format("--num-workers {}", wanted), wanted);
}

void advise_reads(std::vector<Advice>& list, const AdviceFacts& facts, const Shares& shares) {
  const LoaderSetting& setting = facts.setting;
  const auto without = [&](double sure, double best) {
    return Left{1 - shares.read * sure, 1 - shares.read * best};
  };
  if (setting.remote && !setting.cached)
    add(list, facts, AdviceKind::cache, without(0.8, 0.98), true,
        "keep what was downloaded on a local disk, from the second epoch on", "--cache-dir DIR");
  if (setting.direct)
    add(list, facts, AdviceKind::buffered, without(0.6, 0.98), false,
        "read through the page cache, if the data fits in memory", "--read-mode buffered");
  if (!setting.bundled && !setting.remote)
    add(list, facts, AdviceKind::bundle, without(setting.direct ? 0.3 : 0.4, 0.85), !setting.direct,
        "pack the files into bundles: fewer, larger reads",
        "sluice data bundle --input DIR --out BUNDLES");
}

void advise_transfer(std::vector<Advice>& list, const AdviceFacts& facts) {
  if (facts.verdict != Bottleneck::transfer || !facts.times.transfer) return;
  const Sending& sending = facts.times.sending;
  const double together = facts.times.together.point, copy = facts.times.transfer->point;
  // Copies that are partly hidden already save no more than what both parts leave.
  const double ideal = std::max(facts.times.loader.point, facts.times.model.point);
  const auto saves = [&](AdviceKind kind, double sure, double best, std::string what,
                         std::string how) {
    const auto gain = [&](double share) {
      return std::max(1.0, together / std::max(ideal, together - share * copy));
    };
    const double low = 1 + kSure * (gain(sure) - 1), high = gain(best);
    if (low >= kLeastGain)
      list.push_back(
          {kind, std::move(what), std::move(how), 0, {std::sqrt(low * high), low, high}});
  };
  if (!sending.pinned)
    saves(AdviceKind::pin_memory, 0.4, 0.75, "load into pinned memory", "--pin-memory");
  if (sending.upload != "uint8")
    saves(AdviceKind::upload_bytes, sending.upload == "fp32" ? 0.6 : 0.4,
          sending.upload == "fp32" ? 0.8 : 0.6, "send a byte a sample and normalise on the device",
          "--upload uint8");
}

}  // namespace

std::vector<Advice> advise(const AdviceFacts& facts) {
  std::vector<Advice> list;
  if (facts.verdict == Bottleneck::compute) return list;
  const Shares shares = shares_of(facts.loader);
  advise_transfer(list, facts);
  advise_work(list, facts, shares);
  advise_workers(list, facts, shares);
  advise_reads(list, facts, shares);
  std::stable_sort(list.begin(), list.end(),
                   [](const Advice& a, const Advice& b) { return a.gain.low > b.gain.low; });
  return list;
}

AdviceFacts advice_facts(const LoaderUse& loader, const LoaderSetting& setting,
                         const std::optional<Attribution>& step, const ProbedData& probed) {
  AdviceFacts facts;
  facts.loader = loader;
  facts.setting = setting;
  facts.probed = probed;
  if (step) {
    facts.times = step->times;
    facts.times.sending = setting.sending;
    facts.verdict = step->verdict;
  } else if (loader.batches > 0) {
    facts.times.loader = exactly(loader.wall_s * 1e3 / static_cast<double>(loader.batches));
    facts.times.together = facts.times.loader;
  }
  return facts;
}

std::string advice_line(const Advice& advice) {
  return fmt::format("{:.2f} to {:.2f} x faster: {} (`{}`)", advice.gain.low, advice.gain.high,
                     advice.what, advice.how);
}

}  // namespace sluice::analysis
