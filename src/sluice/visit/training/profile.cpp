// sluice/visit/training/profile.cpp - engine, batches and schedule of the profiled pass.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/profile.h"

#include "sluice/core/file.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/profile/device_profile.h"
#include "sluice/train/profile/profile.h"

#include <algorithm>

namespace sluice::visit {
namespace {

Result<std::unique_ptr<scenario::TrainingFeed>> feed_of(const TrainingPlan& plan) {
  const LoaderRequest& input = *plan.input;
  scenario::FeedOptions options;
  options.loader.input = input.input;
  options.loader.endpoint = input.endpoint;
  options.loader.region = input.region;
  options.loader.anonymous = input.anonymous;
  options.loader.cache_dir = input.cache_dir;
  options.loader.read_mode = input.read_mode;
  options.loader.batch_size = static_cast<std::uint32_t>(plan.engine.batch);
  options.loader.workers = input.workers;
  options.loader.prefetch = input.prefetch;
  options.set_model(plan.engine.model);
  options.stand_in_labels = true;
  return scenario::TrainingFeed::open(options);
}

/// Of the row that the metrics are of.
Result<train::EngineConfig> measured_engine(const TrainingPlan& plan,
                                            const results::TrainingMetrics& metrics) {
  const auto text = [&](const char* key) {
    const Json& found = at(metrics.config.other, key);
    return found.is_string() ? found.get<std::string>() : std::string();
  };
  SLUICE_TRY(const train::Regime regime, train::parse_regime(metrics.config.dtype));
  SLUICE_TRY(const train::Rung rung, train::parse_rung(text("compile")));
  SLUICE_TRY(const train::LastBlock last_block, train::parse_last_block(text("last_block")));
  return plan.engine_of(
      regime, static_cast<int>(metrics.config.per_device_batch_size.value_or(plan.engine.batch)),
      rung, last_block);
}

constexpr std::size_t kTop = 30;

/// The first kTop of totals over `steps`, per step.
template <class Total, class Calls>
std::vector<results::ProfiledWork> longest(const std::vector<Total>& totals, std::int64_t steps,
                                           Calls calls) {
  std::vector<results::ProfiledWork> out;
  const auto each = static_cast<double>(std::max<std::int64_t>(steps, 1));
  for (const Total& total : totals) {
    if (out.size() == kTop) break;
    out.push_back({total.name, total.category, total.total_ms / each, total.share,
                   static_cast<double>(calls(total)) / each});
  }
  return out;
}

}  // namespace

void count_hardware(const TrainingPlan& plan, results::TrainingMetrics& metrics) {
  const auto counted = [&]() -> Result<train::DeviceCounters> {
    SLUICE_TRY(const train::EngineConfig engine, measured_engine(plan, metrics));
    const scenario::GeneratedBatch batch =
        scenario::generate_batch(engine.model, engine.batch, engine.seed);
    return train::count_step(
        engine, [&batch]() -> Result<train::BatchView> { return batch.view(); }, true);
  }();
  if (counted) {
    metrics.memory_bandwidth_use = {counted->dram_share, ""};
    metrics.memory_bandwidth_label = "counted by the hardware";
    metrics.hardware_counters = train::to_json(*counted);
  } else {
    metrics.memory_bandwidth_use = {std::nullopt, counted.error().message};
  }
}

Result<ProfilePass> profile_pass(const TrainingPlan& plan, const std::filesystem::path& folder) {
  const scenario::GeneratedBatch batch =
      scenario::generate_batch(plan.engine.model, plan.engine.batch, plan.engine.seed);
  std::unique_ptr<scenario::TrainingFeed> feed;
  train::BatchSource next = [&batch]() -> Result<train::BatchView> { return batch.view(); };
  if (plan.input) {
    SLUICE_TRY(feed, feed_of(plan));
    next = [&feed]() -> Result<train::BatchView> {
      SLUICE_TRY(const scenario::FeedBatch loaded, feed->next_of_any_epoch());
      return loaded.view;
    };
  }
  scenario::TrainingMixer mixer(plan.mix, plan.engine.model, plan.engine.seed);
  if (plan.mix.on())
    next = [&mixer, given = next, step = std::uint64_t{0}]() mutable -> Result<train::BatchView> {
      SLUICE_TRY(const train::BatchView view, given());
      return mixer.mix(view, step++, 0);
    };
  const bool resident = !plan.input;
  ProfilePass pass;
  train::ProfileOutput output;
  output.chrome = plan.profile == "trace";
  if (plan.engine.device != "cpu") {
    SLUICE_TRY(train::DeviceProfile device, train::profile_device(plan.engine, next, resident));
    const auto file = folder / "profile" / "gpu.json";
    SLUICE_CHECK(create_folders(file.parent_path()));
    SLUICE_CHECK(write_file_atomic(file, dump_json(train::to_json(device, kTop)) + "\n"));
    pass.files.push_back(file.lexically_relative(folder).string());
    pass.kernels = longest(device.summary.kernels, device.summary.steps,
                           [](const train::KernelTotal& kernel) { return kernel.launches; });
    output.device = std::move(device.steps);
  }
  SLUICE_TRY(const auto engine, train::Engine::make(plan.engine));
  if (resident) {  // one step puts the batch where it stays
    for (int i = 0; i < plan.engine.grad_accum; ++i) {
      SLUICE_TRY(const train::BatchView view, next());
      SLUICE_CHECK(engine->micro_step(view));
    }
    SLUICE_CHECK(engine->update());
    next = nullptr;
  }
  SLUICE_TRY(const train::ProfileFiles files,
             train::profile_steps(*engine, next, {}, folder, output));
  if (!files.chrome.empty()) pass.files.push_back(files.chrome.lexically_relative(folder).string());
  for (const auto& file : files.tensorboard)
    pass.files.push_back(file.lexically_relative(folder).string());
  if (pass.kernels.empty())
    pass.ops = longest(files.summary.ops, files.summary.steps,
                       [](const train::OpTotal& op) { return op.calls; });
  return pass;
}

}  // namespace sluice::visit
