// sluice/cli/eval.cpp - `sluice eval`: perplexity of a fixed text and the probe sets of a model.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/eval.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/flags/eval.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/env/collect.h"
#include "sluice/env/profile.h"
#include "sluice/eval/probe_set.h"
#include "sluice/measure/interrupt.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/training/result.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

struct EvalArgs {
  EvalQuestions questions;
  std::string worker;
};

Result<eval::EvalFacts> facts_now() {
  SLUICE_TRY(const env::Environment environment, env::collect({}));
  env::ProfileOptions options;
  options.framework = env::framework_sluice(results::kSchemaVersion);
  return eval::EvalFacts{env::machine_profile(environment, options),
                         visit::metrics_env_json(env::to_json(environment)), environment.timestamp};
}

std::string text_of(const eval::EvalResult& result) {
  std::string out =
      fmt::format("model: {} ({})\n", printable(result.model.value("name", std::string("?"))),
                  result.model.value("kind", std::string("?")));
  out +=
      result.ppl_fixed_shard
          ? fmt::format("perplexity {:.4f} over {} tokens of {}, windows of {} by {}\n",
                        *result.ppl_fixed_shard, result.shard_tokens, printable(result.shard_name),
                        *result.config.max_length, *result.config.stride)
          : fmt::format("perplexity: none, {}\n", result.no_ppl);
  for (const eval::ProbeOutcome& probe : result.probes) {
    out += fmt::format("{:<22}{:>3} of {:>2}  {:>6.2f} %\n", probe.name, probe.correct(),
                       probe.answers.size(), 100 * probe.accuracy());
  }
  return out;
}

Result<ExitCode> run(Context& context, const EvalArgs& args) {
  const Globals& globals = context.globals;
  eval::EvalConfig config = config_of(args.questions);
  if (globals.seed_given) config.seed = globals.seed;
  // exec: the worker is the process that is started, not a child of a shell.
  if (!args.worker.empty()) config.worker = {"/bin/sh", "-c", "exec " + args.worker};
  SLUICE_CHECK(eval::check_config(config));
  OutputFiles files(globals);
  if (!config.save_model.empty()) SLUICE_CHECK(files.claim({config.save_model}, NamedBy::user));
  if (!globals.out.empty()) {
    SLUICE_CHECK(files.claim({globals.out / "eval.json"}));
    if (!config.worker.empty()) config.worker_log = globals.out / "worker.log";
  }
  const measure::Interrupt interrupt;
  config.cancel_fd = interrupt.fd();
  SLUICE_TRY(const eval::EvalResult result, eval::run_eval(config, *context.globals.progress));
  SLUICE_TRY(const eval::EvalFacts facts, facts_now());
  const std::string json = dump_json(eval::eval_json(result, facts)) + "\n";
  if (!config.save_model.empty()) files.written(config.save_model);
  if (!globals.out.empty()) SLUICE_CHECK(files.write(globals.out / "eval.json", json));
  std::string text = text_of(result);
  if (!globals.out.empty())
    text += fmt::format("written: {}\n", printable((globals.out / "eval.json").string()));
  const std::string& shown = globals.json ? json : text;
  print_text(shown);
  return ExitCode::done;
}

}  // namespace

void add_eval_questions(CLI::App& command, EvalQuestions& questions) {
  eval::EvalConfig& config = questions.config;
  add_value(command, "--shard", config.fixed_shard_path, "FILE",
            "text to score (default: the built-in bench/data/fixed_shard.txt)");
  add_value(command, "--shard-sha256", config.fixed_shard_sha256, "HEX",
            "refuse a shard with another SHA-256");
  add_value(command, "--probes", questions.probes, "LIST",
            "probe sets, separated by commas (default: " + join(eval::probe_names()) + ")");
  command.add_option("--max-length", config.max_length,
                     "tokens per window (default: the model's context, at most 2048)");
  command.add_option("--stride", config.stride,
                     "tokens from one window to the next (default: a quarter of the window)");
  command.add_option("--max-new-tokens", config.max_new_tokens, "longest answer, in tokens")
      ->capture_default_str();
}

eval::EvalConfig config_of(const EvalQuestions& questions) {
  eval::EvalConfig config = questions.config;
  if (!questions.probes.empty()) config.probes = split(questions.probes, ',');
  return config;
}

void add_eval(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<EvalArgs>(
      root, context, "eval",
      "Evaluate a model on a fixed text and four probe sets, the same bits every time", run);
  eval::EvalConfig& config = args.questions.config;
  add_value(sub, "--model", config.checkpoint, "FILE",
            "checkpoint of our GPT (default: a small one, trained here, always the same)");
  add_value(sub, "--worker", args.worker, "CMD",
            "program that answers logprobs and generate for any model (docs/peer-protocol.md)");
  add_value(sub, "--endpoint", config.endpoint, "URL",
            "OpenAI-compatible address, such as http://127.0.0.1:8000/v1; probes only");
  add_value(sub, "--endpoint-model", config.endpoint_model, "NAME",
            "model to ask at --endpoint (default: the first that it lists)");
  sub.add_flag("--allow-network", config.allow_network,
               "allow network access, which --endpoint needs");
  add_eval_questions(sub, args.questions);
  sub.add_option("--temperature", config.temperature,
                 "sampling temperature; only 0, greedy, is accepted")
      ->capture_default_str();
  add_value(sub, "--save-model", config.save_model, "FILE",
            "file to save the built-in model to, as a checkpoint for --model");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice eval --json --out here   # also writes here/eval.json",
                     "sluice eval --model gpt.safetensors --probes code_sanity_20",
                     "sluice eval --worker 'python3 adapters/python/hf_eval_worker.py MODEL_DIR'",
                     "sluice eval --endpoint http://127.0.0.1:8000/v1 --allow-network"});
}

}  // namespace sluice::cli
