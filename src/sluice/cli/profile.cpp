// sluice/cli/profile.cpp - `sluice profile`: where the time of a training step goes, op by op.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/profile.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/training.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/model/op_cost.h"
#include "sluice/train/profile/device_profile.h"
#include "sluice/visit/device_profile_text.h"
#include "sluice/visit/loader/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kProfileBatch = 8;  // a profile is about shares: a small batch shows them soon
constexpr std::uint64_t kProfileSeed = 42;

struct ProfileFlags {
  LoaderFlags loader;
  TrainingFlags training;
  train::ProfileSchedule schedule;
  int top = 30;
};

Result<std::unique_ptr<scenario::TrainingFeed>> open_feed(const ProfileFlags& flags,
                                                          const train::EngineConfig& engine) {
  SLUICE_TRY(visit::LoaderRequest request, loader_request(flags.loader, usable_cores()));
  if (request.bundling)
    return Error{Errc::usage,
                 "--enable-bundling: the input is read as it is; `sluice data bundle` packs it"};
  SLUICE_CHECK(set_model(request, flags.loader, engine.model));
  SLUICE_TRY(const visit::InputFacts input, visit::inspect_input(request));
  visit::DataloaderPlan plan;
  plan.loader = request;
  measure::SubjectContext context;
  context.spec = visit::loader_spec_json(plan, input, engine.seed);
  scenario::FeedOptions options;
  SLUICE_TRY(options.loader, scenario::read_loader_spec(context));
  options.set_model(engine.model);
  options.stand_in_labels = true;
  return scenario::TrainingFeed::open(options);
}

Json document_of(const train::Engine& engine, const ProfileFlags& flags,
                 const train::ProfileFiles& files) {
  Json tensorboard = Json::array();
  for (const fs::path& path : files.tensorboard)
    tensorboard.push_back(path.string());
  Json json{
      {"model", engine.config().model.name},
      {"device", engine.info().device},
      {"library", engine.info().library},
      {"dtype", to_string(engine.info().regime)},
      {"threads", engine.info().threads},
      {"last_block", to_string(engine.program().options.last_block)},
      {"flop_executed", train::executed_flop(engine.program()) * engine.config().grad_accum},
      {"batch_size", engine.config().batch},
      {"grad_accum", engine.config().grad_accum},
      {"data", names_input(flags.loader) ? "loader" : "generated"},
      {"schedule", Json{{"wait", flags.schedule.wait},
                        {"warmup", flags.schedule.warmup},
                        {"active", flags.schedule.active},
                        {"repeat", flags.schedule.repeat}}},
      {"files", Json{{"chrome", files.chrome.string()}, {"tensorboard", std::move(tensorboard)}}}};
  json.update(train::to_json(files.summary, static_cast<std::size_t>(flags.top)));
  return json;
}

void show(const Json& document, const train::ProfileSummary& summary, const std::string& device,
          std::size_t top) {
  print("{}, {}, batch {}, {} ({} threads, {}): {} steps, {:.2f} ms each while observed\n\n",
        document["model"].get<std::string>(), document["dtype"].get<std::string>(),
        document["batch_size"].get<int>(), document["device"].get<std::string>(),
        document["threads"].get<int>(), document["library"].get<std::string>(), summary.steps,
        summary.step_ms);
  const auto per_step = [&](double total_ms) {
    return total_ms / static_cast<double>(summary.steps);
  };
  print("{:<34} {:>12} {:>8}\n", "region", "ms per step", "share");
  for (const train::CategoryTotal& phase : summary.phases)
    print("{:<34} {:>12.3f} {:>6.1f} %\n", phase.category, per_step(phase.total_ms),
          phase.share * 100);
  print("\n{:<34} {:>12} {:>8} {:>9}\n", "category", "ms per step", "share", "calls");
  for (const train::CategoryTotal& one : summary.categories)
    print("{:<34} {:>12.3f} {:>6.1f} % {:>9}\n", one.category, per_step(one.total_ms),
          one.share * 100, one.calls);
  print("\n{:<34} {:>12} {:>8} {:>9} {:>8} {:>8}  {}\n", "op", "ms per step", "share", "calls",
        "GB/s", "TFLOP/s", "category");
  for (std::size_t i = 0; i < std::min(top, summary.ops.size()); ++i) {
    const train::OpTotal& op = summary.ops[i];
    print("{:<34} {:>12.3f} {:>6.1f} % {:>9} {:>8} {:>8}  {}\n", op.name, per_step(op.total_ms),
          op.share * 100, op.calls,
          op.cost.bytes > 0 ? fmt::format("{:.0f}", op.gigabytes_per_s()) : "",
          op.cost.flop > 0 ? fmt::format("{:.3g}", op.teraflops()) : "", op.category);
  }
  print(
      "\nregions cover {:.1f} % of the steps, ops {:.1f} %; observing costs time, so none of this "
      "is a measurement: `sluice bench training` measures\n",
      summary.region_coverage * 100, summary.op_coverage * 100);
  if (!device.empty()) print("\n{}\n", device);
  print("trace: {} (ui.perfetto.dev opens it)\ntensorboard: {}\n",
        document["files"]["chrome"].get<std::string>(),
        fs::path(document["files"]["tensorboard"][0].get<std::string>()).parent_path().string());
}

Result<ExitCode> run_profile(const Context& context, const ProfileFlags& flags) {
  SLUICE_CHECK(train::check_schedule(flags.schedule));
  SLUICE_TRY(const int gpu, parse_gpu(flags.loader.gpu));
  SLUICE_TRY(const train::EngineConfig config,
             engine_config_of(flags.training, gpu < 0 ? "cpu" : fmt::format("cuda:{}", gpu),
                              flags.loader.batch_size,
                              context.globals.seed_given ? context.globals.seed : kProfileSeed));
  SLUICE_CHECK(train::plan_engine(config));  // before anything is made for it
  scenario::GeneratedBatch generated;
  std::unique_ptr<scenario::TrainingFeed> feed;
  if (names_input(flags.loader)) {
    SLUICE_TRY(feed, open_feed(flags, config));
  } else {
    generated = scenario::generate_batch(config.model, config.batch, config.seed);
  }
  const train::BatchSource next = [&]() -> Result<train::BatchView> {
    if (!feed) return generated.view();
    SLUICE_TRY(const scenario::FeedBatch batch, feed->next_of_any_epoch());
    return batch.view;
  };
  const fs::path folder = context.globals.out.empty() ? fs::path(".") : context.globals.out;
  OutputFiles written(context.globals);
  SLUICE_CHECK(written.claim(
      {folder / "profile" / "profile.json", folder / "profile" / "chrome" / "trace.json"}));
  const auto top = static_cast<std::size_t>(flags.top);
  train::ProfileOutput output;
  std::optional<train::DeviceProfile> device;
  if (gpu >= 0) {
    SLUICE_TRY(device, train::profile_device(config, next, !feed));
    output.device = std::move(device->steps);
  }
  SLUICE_TRY(const auto engine, train::Engine::make(config));
  SLUICE_TRY(const train::ProfileFiles files,
             train::profile_steps(*engine, next, flags.schedule, folder, output));
  Json document = document_of(*engine, flags, files);
  if (device) document["gpu"] = train::to_json(*device, top);
  written.written(folder / "profile" / "chrome" / "trace.json");
  SLUICE_CHECK(written.write(folder / "profile" / "profile.json", dump_json(document) + "\n"));
  if (context.globals.json)
    print("{}\n", dump_json(document));
  else
    show(document, files.summary, device ? visit::device_text(*device, top) : "", top);
  return ExitCode::done;
}

}  // namespace

void add_profile(CLI::App& root, Context& context) {
  auto flags = std::make_shared<ProfileFlags>();
  flags->loader.batch_size = kProfileBatch;
  CLI::App* command =
      add_command(root, context, "profile", "Show where the time of a training step goes, op by op",
                  [flags, &context] { return run_profile(context, *flags); });
  begin_group(*command, "Profile");
  const auto steps = [&](const char* name, int& value, const char* text) {
    add_value(*command, name, value, "N", text)->capture_default_str();
  };
  steps("--wait", flags->schedule.wait, "steps to skip at the start of a cycle");
  steps("--warmup", flags->schedule.warmup, "steps to observe and throw away");
  steps("--active", flags->schedule.active, "steps to keep");
  steps("--repeat", flags->schedule.repeat, "number of cycles; each writes a file for TensorBoard");
  add_number(*command, "--top", flags->top, 1, 100'000,
             "number of ops and kernels in the tables, longest first");
  add_training_flags(*command, flags->training);
  add_loader_flags(*command, flags->loader, true);
  show_first(*command,
             {"--wait", "--warmup", "--active", "--repeat", "--top", "--model", "--image-size",
              "--dtype", "--threads", "--input", "--gpu", "--batch-size"});
  add_force_flag(*command, context.globals);
  add_examples(*command, {"sluice profile --model vit5-tiny --gpu cpu --out D",
                          "sluice profile --model gpt-tiny --batch-size 8 --dtype bf16 --json",
                          "sluice profile --model vit5-tiny --input photos --active 10 --repeat 1",
                          "tensorboard --logdir D/profile/tb      (with torch-tb-profiler 0.4.3)"});
}

}  // namespace sluice::cli
