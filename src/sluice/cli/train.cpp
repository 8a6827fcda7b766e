// sluice/cli/train.cpp - `sluice train`: a model learns from images or tokens; `learn-model` is the
// same.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/train.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/world.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/visit/train/request.h"
#include "sluice/visit/train/world.h"

#include <fmt/format.h>

#include <csignal>

namespace sluice::cli {
namespace {

constexpr int kMostSteps = 1'000'000'000;

Status check(const TrainFlags& flags) {
  if (flags.resume && flags.checkpoint_dir.empty())
    return usage_error("--resume: needs the --checkpoint-dir of the run that is continued");
  if (!flags.val_input.empty() && flags.val_split)
    return usage_error("--val-input and --val-split: give only one");
  if (flags.loader.bundling)
    return usage_error(
        "--enable-bundling: is for bench dataloader; `sluice data bundle` packs the samples, and "
        "--input takes the bundles");
  if (flags.validate.empty() && (!flags.expect.empty() || !flags.record.empty()))
    return usage_error(fmt::format("{}: needs --validate CHECKPOINT",
                                   flags.expect.empty() ? "--record" : "--expect"));
  if (!flags.validate.empty() && (flags.resume || !flags.checkpoint_dir.empty()))
    return usage_error("--validate: does not train; leave out --resume and --checkpoint-dir");
  if (flags.warmup_epochs > flags.epochs)
    return usage_error(fmt::format("--warmup-epochs {:g}: at most the {} of --epochs is accepted",
                                   flags.warmup_epochs, flags.epochs));
  return ok;
}

void add_flags(CLI::App& command, TrainFlags& flags) {
  add_loader_flags(command, flags.loader, true);
  begin_group(command, "Training");
  command.add_flag("--skip-errors", flags.skip_errors,
                   "replace samples that cannot be decoded; they are counted");
  add_number(command, "--epochs,--epoch", flags.epochs, 1, 1'000'000,
             "passes over the training data");
  add_number(command, "--warmup-epochs", flags.warmup_epochs, 0.0, 1e6,
             "epochs over which the learning rate rises linearly to --lr");
  add_number(command, "--val-every", flags.val_every, 1, 1'000'000,
             "validate after every so many epochs, and at the end");
  add_value(command, "--val-input", flags.val_input, "DIR",
            "folder of validation data; default: DIR/val beside DIR/train");
  command
      .add_option("--val-split", flags.val_split,
                  "share of every class held back for validation without --val-input; 0: none "
                  "(default 0.1)")
      ->check(CLI::Range(0.0, 0.9));
  add_mix_flags(command, flags.mix);
  begin_group(command, "Checkpoints");
  add_value(command, "--checkpoint-dir", flags.checkpoint_dir, "DIR",
            "folder for last.safetensors and best.safetensors; default: checkpoints in --out");
  add_number(command, "--checkpoint-every", flags.checkpoint_every, 0, kMostSteps,
             "also save a checkpoint every so many steps; 0: after epochs only");
  command.add_flag("--resume", flags.resume, "go on from the last checkpoint, bit for bit");
  add_value(command, "--validate", flags.validate, "CHECKPOINT",
            "evaluate this checkpoint on --input instead of training");
  add_value(command, "--expect", flags.expect, "FILE",
            "with --validate: exit 1 unless the result equals this file");
  add_value(command, "--record", flags.record, "FILE",
            "with --validate: write the result to this file, for --expect");
  begin_group(command, "Ranks");
  add_world_flags(
      command, flags.world_size, flags.rank_timeout_s,
      "ranks that train one model on this machine, each on --batch-size samples: by MPI on CPUs, "
      "by NCCL on GPUs from --gpu on; -1: one for each core or GPU. Under mpirun, srun or "
      "torchrun: its ranks");
  command.add_flag(visit::kFollowFlag, flags.follows, "of a rank that rank 0 started")->group("");
  add_training_flags(command, flags.training);
}

Result<visit::TrainRequest> train_request(const TrainFlags& flags, std::uint64_t seed) {
  visit::TrainRequest request;
  SLUICE_TRY(request.loader, loader_request(flags.loader, usable_cores()));
  SLUICE_TRY(const train::ModelSpec model, model_of(flags.training));
  const bool text = model.family == train::Family::gpt;
  if (text && !flags.batch_given) request.loader.batch_size = kGptBatch;
  SLUICE_CHECK(set_model(request.loader, flags.loader, model));
  SLUICE_TRY(request.engine, engine_config_of(flags.training, request.loader.device,
                                              request.loader.batch_size, seed));
  if (!request.engine.optimizer && flags.validate.empty())
    return usage_error(
        fmt::format("--dtype {}: has no optimizer; fp32, bf16 and bf16-residual are accepted",
                    train::to_string(request.engine.regime)));
  request.plan.epochs = static_cast<std::uint64_t>(flags.epochs);
  request.plan.warmup_epochs = flags.warmup_epochs;
  request.plan.val_every = static_cast<std::uint64_t>(flags.val_every);
  request.plan.most_batches = static_cast<std::uint64_t>(request.loader.num_batches);
  request.plan.checkpoint_every = static_cast<std::uint64_t>(flags.checkpoint_every);
  request.plan.checkpoint_dir = flags.checkpoint_dir;
  request.plan.mix = flags.mix;
  request.engine.soft_targets = flags.mix.on();
  SLUICE_CHECK(scenario::check_mixing(flags.mix, model, request.loader.batch_size));
  request.skip_errors = flags.skip_errors;
  request.val_input = flags.val_input;
  request.val_split = flags.val_split.value_or(request.val_split);
  request.resume = flags.resume;
  return request;
}

void print_validation(const Json& document) {
  for (const auto& [key, value] : document.at("found").items())
    print("{:<18} {}\n", key, value.dump());
  for (const Json& line : document.at("comparison"))
    print("{:<18} expected {:g} ± {:g}, found {:g}: {}\n", line.at("figure").get<std::string>(),
          line.at("expected").get<double>(), line.at("tolerance").get<double>(),
          line.at("found").get<double>(), line.at("inside").get<bool>() ? "inside" : "OUTSIDE");
}

Result<ExitCode> show(const Context& context, const visit::TrainResult& result,
                      std::uint64_t epochs) {
  const Json& document = result.document;
  if (context.globals.json) {
    print("{}\n", dump_json(document));
  } else {
    const Json& engine = document.at("engine");
    const Json& world = document.at("world");
    const std::string ranks = world.at("library").is_null()
                                  ? std::string()
                                  : fmt::format(", {} ranks by {}", world.at("size").dump(),
                                                world.at("library").get<std::string>());
    print("{}: {} parameters, {} on {}, {} threads{}\n", engine.at("model").get<std::string>(),
          engine.at("parameters").dump(), engine.at("dtype").get<std::string>(),
          engine.at("device").get<std::string>(), engine.at("threads").dump(), ranks);
    for (const Json& epoch : document.at("epochs"))
      print("{}", visit::epoch_line(epoch, epochs));
    print("{}: train.json, steps.jsonl\ncheckpoint: {}\n", result.folder.string(),
          document.at("checkpoints").at("last").get<std::string>());
  }
  if (!result.interrupted) return ExitCode::done;
  return Error{Errc::interrupted,
               fmt::format("interrupted after {} steps; --checkpoint-dir {} --resume goes on",
                           document.at("steps").dump(), result.checkpoints.string())};
}

/// Who trains: one process, or ranks that a launcher or rank 0 started.
Result<visit::TrainRanks> ranks_of(const TrainFlags& flags) {
  visit::TrainRanks ranks;
  ranks.timeout_s = flags.rank_timeout_s;
  ranks.follows = flags.follows;
  if (ranks.follows) return ranks;  // a launcher's variables are those of rank 0
  SLUICE_TRY(ranks.launched, train::find_rank());
  const auto gpu = parse_gpu(flags.loader.gpu);  // what is wrong with it, train_request() says
  const int gpu_index = gpu ? *gpu : -1;
  if (gpu_index >= 0) ranks.device = fmt::format("cuda:{}", gpu_index);
  SLUICE_TRY(const int places, places_of_ranks(flags.world_size, ranks.launched, gpu_index));
  SLUICE_TRY(ranks.size, world_size_of(flags.world_size, ranks.launched, places));
  return ranks;
}

Result<ExitCode> train_in_world(const Context& context, const TrainFlags& flags,
                                const visit::TrainRanks& ranks) {
  const bool leads = !ranks.follows && ranks.launched.rank == 0;
  if (!leads) become_follower();
  if (ranks.launched.size > 1) std::signal(SIGTERM, SIG_IGN);  // but while steps are taken
  const auto asked = train_request(flags, context.globals.seed);
  if (!asked && ranks.launched.size == 1 && leads) return asked.error();  // none is started
  SLUICE_TRY(const auto world, visit::TrainWorld::open(context.globals, ranks));
  const auto result = visit::run_train(context.globals, asked, *world);
  // Where all ranks end in order, a launcher must not end rank 0 because of us before it has
  // spoken.
  if (!result && world->is_silent())
    return world->ranks().failed() ? exit_code_of(result.error().code) : ExitCode::done;
  if (!result) return result.error();
  if (leads) return show(context, *result, static_cast<std::uint64_t>(flags.epochs));
  return result->interrupted ? ExitCode::interrupted : ExitCode::done;
}

Result<ExitCode> train(const Context& context, const TrainFlags& flags) {
  SLUICE_TRY(const visit::TrainRanks ranks, ranks_of(flags));
  if (ranks.size > 1 || ranks.follows) return train_in_world(context, flags, ranks);
  SLUICE_TRY(visit::TrainRequest request, train_request(flags, context.globals.seed));
  const std::uint64_t epochs = request.plan.epochs;
  SLUICE_TRY(const auto result, visit::run_train(context.globals, std::move(request)));
  return show(context, result, epochs);
}

Result<ExitCode> validate(const Context& context, const TrainFlags& flags) {
  SLUICE_TRY(const visit::TrainRanks ranks, ranks_of(flags));
  if (ranks.size > 1)
    return usage_error(
        fmt::format("--validate: evaluates in one process, not on {} ranks", ranks.size));
  SLUICE_TRY(visit::TrainRequest request, train_request(flags, context.globals.seed));
  OutputFiles files(context.globals);
  if (!flags.record.empty()) SLUICE_CHECK(files.claim({flags.record}, NamedBy::user));
  SLUICE_TRY(const auto result,
             visit::run_validate({std::move(request), flags.validate, flags.expect, flags.record}));
  if (!flags.record.empty()) files.written(flags.record);
  if (context.globals.json)
    print("{}\n", dump_json(result.document));
  else
    print_validation(result.document);
  return result.inside ? ExitCode::done : ExitCode::regression;
}

void add_train_as(CLI::App& root, Context& context, const std::string& name,
                  const std::string& description) {
  auto flags = std::make_shared<TrainFlags>();
  auto app = std::make_shared<CLI::App*>(nullptr);
  CLI::App* command =
      add_command(root, context, name, description, [flags, app, &context]() -> Result<ExitCode> {
        flags->batch_given = (*app)->count("--batch-size") > 0;
        SLUICE_CHECK(check(*flags));
        return flags->validate.empty() ? train(context, *flags) : validate(context, *flags);
      });
  *app = command;
  add_flags(*command, *flags);
  show_first(*command, {"--input", "--gpu", "--batch-size", "--epochs", "--val-every",
                        "--val-input", "--mixup", "--cutmix", "--checkpoint-dir", "--resume",
                        "--validate", "--model", "--dtype", "--optimizer", "--lr", "--ema"});
  add_force_flag(*command, context.globals);
  add_examples(*command,
               {"sluice data make --kind rgb --count 256 --classes 4 --out photos",
                "sluice train --model vit5-tiny --input photos --gpu cpu --epochs 1 --batch-size 8",
                "sluice train --model gpt-tiny --input text --gpu cpu --num-batches 100",
                "sluice train --model vit5-small --input imagenet --epochs 800 --warmup-epochs 5 "
                "--mixup 0.8 --cutmix 1 --ema --checkpoint-dir checkpoints",
                "sluice train ... --checkpoint-dir checkpoints --resume --world-size 2",
                "sluice train --model vit5-small --input imagenet/val --validate best.safetensors "
                "--expect best.json"});
}

}  // namespace

void add_train(CLI::App& root, Context& context) {
  add_train_as(root, context, "train",
               "Train a model on images or tokens: epochs, validation, checkpoints");
}

void add_learn_model(CLI::App& root, Context& context) {
  add_train_as(root, context, "learn-model", "The same as `train`");
}

}  // namespace sluice::cli
