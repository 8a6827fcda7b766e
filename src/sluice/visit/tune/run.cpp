// sluice/visit/tune/run.cpp - the life of `sluice tune`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/tune/run.h"

#include "sluice/measure/summary.h"
#include "sluice/measure/tune.h"
#include "sluice/peers/places.h"
#include "sluice/report/torch_line.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/usl.h"
#include "sluice/train/cuda/library.h"
#include "sluice/visit/loader/peers.h"
#include "sluice/visit/loader/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;
using measure::Setting;

constexpr double kGigabyte = 1e9;
constexpr std::int64_t kFewestPerSample = 4, kMostPerSample = 200;  // of a sample
constexpr std::int64_t kTorchPrefetch = 2;                          // its default

bool is_ours(const TunePlan& plan) {
  return plan.library == "sluice";
}

bool on_gpu(const TunePlan& plan) {
  return plan.rows.loader.gpu_index >= 0;
}

// Of a GPU a setting has a third value: who decodes.
constexpr std::array kLanes{loader::gpu::LanePolicy::cpu, loader::gpu::LanePolicy::gpu,
                            loader::gpu::LanePolicy::hybrid};
const char* lane_name(const Setting& setting) {
  return to_string(kLanes[static_cast<std::size_t>(setting[2])]);
}

results::TuneSetting named(const Setting& setting) {
  results::TuneSetting made{setting[0], setting[1], std::nullopt, std::nullopt};
  if (setting.size() < 3) return made;
  made.loader = lane_name(setting);
  made.pinned_slots = scenario::slots_of(static_cast<int>(setting[1]), true);
  return made;
}

std::string progress_words(const Setting& setting) {
  return fmt::format("workers {}, prefetch {}{}", setting[0], setting[1],
                     setting.size() > 2 ? std::string(", loader ") + lane_name(setting) : "");
}

/// The flags of `sluice bench dataloader` for a setting.
std::string flags_of(const TunePlan& plan, const Setting& setting) {
  LoaderRequest request = plan.rows.loader;
  request.workers = static_cast<int>(setting[0]);
  request.prefetch = static_cast<int>(setting[1]);
  if (setting.size() > 2) request.lanes = kLanes[static_cast<std::size_t>(setting[2])];
  const std::string flags = loader_flags_text(request);
  return on_gpu(plan) ? fmt::format("--gpu {} {}", request.device, flags) : flags;
}

/// The value of an axis nearest to what was asked for, from below.
std::int64_t start_on(const measure::TuneAxis& axis, std::int64_t wanted) {
  std::int64_t start = axis.values.front();
  for (const std::int64_t value : axis.values)
    if (value <= wanted) start = value;
  return start;
}

/// Rate over workers, all else being what was measured with most numbers of them; nothing below
/// three.
std::optional<results::TuneScaling> scaling_of(const measure::TuneResult& result) {
  std::map<Setting, std::map<std::int64_t, double>> by_others;
  for (const measure::TuneRate& one : result.rates)
    if (const auto rate = stats::geometric_mean(one.rates))
      by_others[Setting(one.setting.begin() + 1, one.setting.end())][one.setting[0]] = *rate;
  const std::map<std::int64_t, double>* most = nullptr;
  Setting others;
  for (const auto& [value, rates] : by_others) {
    if (most != nullptr && rates.size() <= most->size()) continue;
    most = &rates;
    others = value;
  }
  if (most == nullptr || most->size() < 3) return std::nullopt;
  std::vector<double> workers, rates;
  for (const auto& [count, rate] : *most) {
    workers.push_back(static_cast<double>(count));
    rates.push_back(rate);
  }
  const auto usl = stats::fit_usl(workers, rates);
  if (!usl) return std::nullopt;
  others.insert(others.begin(), 0);
  return results::TuneScaling{others[1],  named(others).loader, workers,    rates,    usl->lambda,
                              usl->sigma, usl->kappa,           usl->error, usl->peak};
}

std::vector<results::TuneEvidence> evidence_of(const measure::TuneResult& result) {
  std::vector<results::TuneEvidence> list;
  for (const measure::TuneComparison& one : result.evidence) {
    results::TuneEvidence& entry = list.emplace_back();
    entry.setting = named(one.setting);
    entry.against = named(one.against);
    entry.pairs = one.log_ratios.size();
    entry.outcome = to_string(one.outcome);
    if (one.ratio.point > 0) entry.ratio = one.ratio;
    entry.reason = one.reason;
  }
  return list;
}

std::vector<results::TunePlace> places_of(const measure::TuneRanking& ranking) {
  std::vector<results::TunePlace> list;
  for (const measure::TuneRanked& one : ranking.order)
    list.push_back({named(one.setting), one.n, one.rate, one.ratio});
  return list;
}

std::vector<results::TuneRate> rates_of(const measure::TuneResult& result) {
  std::vector<results::TuneRate> list;
  for (const measure::TuneRate& one : result.rates) {
    const auto rate = stats::geometric_mean(one.rates);
    list.push_back(
        {named(one.setting), one.rates.size(), rate ? std::optional(*rate) : std::nullopt});
  }
  return list;
}

/// Measures settings as the search asks for them, and keeps a row for each.
class SettingMeter {
 public:
  SettingMeter(const TunePlan& plan, const RowMaker& maker, std::string case_name,
               const measure::RunnerContext& runner)
      : plan_(plan), maker_(maker), case_name_(std::move(case_name)), runner_(runner) {}

  /// How many batches a sample is, from a short one: batches that lie ready take no time, so the
  /// time of the first ones says nothing.
  Status size_samples(const Setting& setting) {
    const measure::Row nothing;
    SLUICE_TRY(const measure::Row row, run_once(nothing, setting, 0));
    if (row.status != measure::RowStatus::ok) return ok;  // the search finds out, and says so
    const double wanted =
        plan_.rows.sample_s * measure::run_rates(row).back() / plan_.rows.loader.batch_size;
    batches_ = std::clamp(static_cast<std::int64_t>(wanted) + 1, kFewestPerSample, kMostPerSample);
    return ok;
  }

  Result<double> measure(const Setting& setting, int block) {
    SLUICE_CHECK(check_memory(predicted_bytes(setting), "would need about"));
    measure::Row& kept = rows_[setting];
    SLUICE_TRY(measure::Row row, run_once(kept, setting, block));
    if (row.status != measure::RowStatus::ok) {
      const Error error{Errc::measurement, row.reason};
      if (kept.runs.empty()) kept = std::move(row);
      return error;
    }
    row.runs.back().block = block;  // pairs are runs of one block
    kept = std::move(row);
    bytes_per_item_ = kept.bytes_per_item;
    SLUICE_CHECK(check_memory(static_cast<double>(kept.peak_rss_bytes.value_or(0)), "took"));
    SLUICE_CHECK(check_cpu(kept));
    return measure::run_rates(kept).back();
  }

  /// By setting.
  [[nodiscard]] std::vector<measure::Row> rows() const {
    std::vector<measure::Row> all;
    for (const auto& [setting, row] : rows_)
      if (!row.case_name.empty()) all.push_back(row);
    return all;
  }

 private:
  /// `row` and one more run of it, in a fresh process.
  Result<measure::Row> run_once(const measure::Row& row, const Setting& setting, int block) {
    measure::Policy policy = plan_.rows.policy;
    policy.runs = static_cast<int>(row.runs.size()) + 1;
    policy.seed += static_cast<std::uint64_t>(block);
    SLUICE_TRY(measure::SubjectSpec spec, spec_of(setting));
    spec.min_items = batches_ * plan_.rows.loader.batch_size;
    SLUICE_TRY(measure::WaveResult wave, measure::run_wave({spec}, policy, runner_, {row}));
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    return std::move(wave.rows.front());
  }

  [[nodiscard]] Result<measure::SubjectSpec> spec_of(const Setting& setting) const {
    std::map<std::string, std::string> axes{{"workers", std::to_string(setting[0])},
                                            {"prefetch", std::to_string(setting[1])}};
    if (!is_ours(plan_))
      return peer_row(maker_, plan_.library, static_cast<int>(setting[0]),
                      static_cast<int>(setting[1]), axes);
    Json spec{{"workers", setting[0]}, {"prefetch", setting[1]}};
    if (setting.size() > 2) spec["loader"] = axes["loader"] = lane_name(setting);
    return maker_.ours(case_name_, spec, axes);
  }

  /// The batches alone: what is delivered, those ahead, and the one in the making.
  [[nodiscard]] double predicted_bytes(const Setting& setting) const {
    return bytes_per_item_ * plan_.rows.loader.batch_size * static_cast<double>(setting[1] + 2);
  }

  Status check_memory(double bytes, const char* verb) const {
    if (plan_.max_rss_bytes == 0 || bytes <= static_cast<double>(plan_.max_rss_bytes)) return ok;
    return Error{
        Errc::measurement,
        fmt::format("{} {:.2f} GB of memory, --max-rss-gb allows {:.2f}", verb, bytes / kGigabyte,
                    static_cast<double>(plan_.max_rss_bytes) / kGigabyte)};
  }

  Status check_cpu(const measure::Row& row) const {
    const double share = row.thread_policy.cpu_per_wall / plan_.cores;
    if (plan_.max_cpu == 0 || share <= plan_.max_cpu) return ok;
    return Error{Errc::measurement, fmt::format("keeps {:.0f} % of the cores busy, --max-cpu "
                                                "allows {:.0f} %",
                                                100 * share, 100 * plan_.max_cpu)};
  }

  const TunePlan& plan_;
  const RowMaker& maker_;
  std::string case_name_;
  const measure::RunnerContext& runner_;
  std::map<Setting, measure::Row> rows_;
  double bytes_per_item_ = 0;
  std::int64_t batches_ = kFewestPerSample;
};

class TuneVisit {
 public:
  TuneVisit(const Caller& caller, const TunePlan& plan)
      : caller_(caller), plan_(plan), visit_(caller, "tune") {}

  Result<Visited> run() {
    if (on_gpu(plan_)) SLUICE_CHECK(train::cuda::device_facts(plan_.rows.loader.gpu_index));
    SLUICE_TRY(input_, inspect_input(plan_.rows.loader));
    if (on_gpu(plan_) && input_.arrays)
      return Error{Errc::usage, fmt::format("--gpu {}: takes batches of images; the input holds "
                                            "arrays, for which cpu is accepted",
                                            plan_.rows.loader.device)};
    SLUICE_TRY(const peers::Places places, peers::find_places());
    const RowMaker maker{plan_.rows, input_, places.worker(),
                         measure::subject_seed(plan_.rows.policy)};
    if (!is_ours(plan_)) SLUICE_CHECK(check_peer(maker));  // before anything is written
    SLUICE_CHECK(
        visit_.open({.storage = storage_of(plan_.rows.loader),
                     .device = on_gpu(plan_) ? env::ProfileDevice::gpu : env::ProfileDevice::cpu}));
    SLUICE_CHECK(visit_.begin());
    describe();
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start(Progress::silent()));
    SettingMeter meter(plan_, maker, base_case(input_), visit_.runner);
    const measure::TuneOptions options = search();
    auto bar = caller_.progress->bar("tuning", static_cast<std::uint64_t>(plan_.budget_s), "s");
    Clock& clock = *visit_.runner.clock;
    const std::int64_t start_ns = clock.now_ns();
    bar.set(0, "how long a sample must be");
    SLUICE_CHECK(meter.size_samples(options.start));
    const auto measure_one = [&](const Setting& setting, int block) -> Result<double> {
      bar.set(static_cast<std::uint64_t>(static_cast<double>(clock.now_ns() - start_ns) * 1e-9),
              progress_words(setting));
      auto rate = meter.measure(setting, block);
      visit_.file.rows = meter.rows();
      SLUICE_CHECK(visit_.keep());
      return rate;
    };
    SLUICE_TRY(const measure::TuneResult result, measure::tune(options, measure_one, clock));
    conclude(options, result);
    return visit_.finish(result.interrupted);
  }

 private:
  Status check_peer(const RowMaker& maker) const {
    if (input_.arrays)
      return Error{Errc::usage, fmt::format("--library {}: reads folders of JPEG files; the input "
                                            "holds arrays, which sluice alone reads",
                                            plan_.library)};
    SLUICE_CHECK(peer_row(maker, plan_.library, 0, 1, {}));
    return ok;
  }

  void describe() {
    const LoaderRequest& loader = plan_.rows.loader;
    visit_.file.run_config =
        Json{{"command", "tune"},
             {"library", plan_.library},
             {"case", is_ours(plan_) ? base_case(input_) : case_of_library(plan_.library)},
             {"input", loader.remote ? loader.input : "local"},
             {"batch_size", loader.batch_size},
             {"device", loader.device},
             {"max_workers", plan_.max_workers},
             {"max_prefetch", plan_.max_prefetch},
             {"budget_s", plan_.budget_s},
             {"worth", plan_.worth},
             {"max_cpu", plan_.max_cpu},
             {"max_rss_bytes", plan_.max_rss_bytes},
             {"policy", policy_json(plan_.rows.policy)}};
    visit_.file.dataset = dataset_of(input_);
    visit_.file.timing = loader_timing(loader, input_);
    visit_.file.block_order_seed = plan_.rows.policy.seed;
  }

  [[nodiscard]] measure::TuneOptions search() const {
    measure::TuneOptions options;
    options.axes = {measure::doubling_axis("workers", 1, plan_.max_workers),
                    measure::doubling_axis("prefetch", 1, plan_.max_prefetch)};
    options.start = {start_on(options.axes[0], plan_.rows.loader.workers),
                     start_on(options.axes[1], plan_.rows.loader.prefetch)};
    if (on_gpu(plan_)) {
      options.axes.push_back({"loader", {0, 1, 2}});
      const auto lane = std::find(kLanes.begin(), kLanes.end(), plan_.rows.loader.lanes);
      options.start.push_back(lane - kLanes.begin());
    }
    options.reference = options.start;
    if (!is_ours(plan_))
      options.reference =
          Setting{plan_.present_workers,
                  plan_.present_workers == 0 ? kTorchPrefetch : plan_.rows.loader.prefetch};
    options.worth = plan_.worth;
    options.budget_s = plan_.budget_s;
    options.seed = plan_.rows.policy.seed;
    return options;
  }

  void conclude(const measure::TuneOptions& options, const measure::TuneResult& result) {
    const measure::TuneRanking& ranking = result.ranking;
    results::TuneSummary& tune = visit_.file.tune.emplace();
    tune.start = named(options.start);
    tune.best = named(result.best);
    tune.recommended = named(result.recommended);
    tune.reference = named(*options.reference);
    tune.library = plan_.library;
    if (is_ours(plan_))
      tune.flags = flags_of(plan_, result.recommended);
    else
      tune.paste = report::torch_loader_line(tune.recommended);
    tune.choice = to_string(ranking.choice);
    tune.worth = options.worth;
    tune.confidence = options.confidence;
    tune.settled = result.settled;
    tune.complete = result.complete;
    tune.loss = ranking.loss;
    tune.gain = ranking.gain;
    tune.noise = ranking.noise;
    tune.open = static_cast<int>(ranking.open.size());
    if (ranking.more_measurements > 0)
      tune.more_s = ranking.more_measurements * result.elapsed_s / result.measurements;
    tune.blocks = result.blocks;
    tune.elapsed_s = result.elapsed_s;
    tune.budget_s = options.budget_s;
    tune.ranking = places_of(ranking);
    tune.rates = rates_of(result);
    tune.evidence = evidence_of(result);
    tune.scaling = scaling_of(result);
  }

  const Caller& caller_;
  const TunePlan& plan_;
  InputFacts input_;
  Visit visit_;
};

}  // namespace

Result<Visited> run_tune(const Caller& caller, const TunePlan& plan) {
  return TuneVisit(caller, plan).run();
}

}  // namespace sluice::visit
