// sluice/cli/scale/scale.cpp - `sluice scale`: what a training step takes with more ranks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/cli/scale/inputs.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::cli {
namespace {

using analysis::StepPrediction;

double gradient_bytes(const ScaleInputs& inputs) {
  double sum = 0;
  for (const analysis::GradientPiece& piece : inputs.step.pieces)
    sum += piece.bytes;
  return sum;
}

std::vector<StepPrediction> predictions_of(const ScaleInputs& inputs) {
  std::vector<StepPrediction> found;
  for (const int ranks : inputs.ranks) {
    analysis::Cluster cluster = inputs.cluster;
    cluster.ranks = ranks;
    found.push_back(analysis::predict_step(inputs.step, cluster));
  }
  return found;
}

double hidden_share(const StepPrediction& one) {
  return one.sums_s > 0 ? std::max(0.0, 1 - one.exposed_s / one.sums_s) : 1;
}

std::string link_words(const analysis::Link& link) {
  return fmt::format("{:.4g} GB/s and {:.3g} us a hop", link.bytes_per_s * 1e-9,
                     link.latency_s * 1e6);
}

std::string scale_text(const ScaleInputs& inputs, const std::vector<StepPrediction>& found) {
  const analysis::MeasuredStep& step = inputs.step;
  std::string out = fmt::format(
      "{}, {} samples a rank: one rank takes {:.2f} ms a step, {:.2f} of it backward ({})\n",
      printable(inputs.model), inputs.batch, step.step_s * 1e3, step.backward_s * 1e3,
      inputs.measured ? "measured" : "given; backward is two thirds, by FLOP");
  out += fmt::format("gradients: {:.2f} MB in {} pieces, each added up when backward has it{}\n",
                     gradient_bytes(inputs) * 1e-6, step.pieces.size(),
                     step.contention > 0
                         ? fmt::format("; meanwhile backward goes at {:.0f} % of its speed",
                                       100 * (1 - step.contention))
                         : "");
  out += fmt::format("link of a rank: {}{}\n", link_words(inputs.cluster.between),
                     inputs.fitted ? fmt::format(", fitted to {} measured sizes within {:.0f} %",
                                                 inputs.fitted->sizes, inputs.fitted->worst * 100)
                                   : "");
  if (inputs.cluster.per_node > 1)
    out += fmt::format("nodes of {} ranks, within them {}\n", inputs.cluster.per_node,
                       link_words(inputs.cluster.within));
  out += fmt::format("\n{:>8} {:>10} {:>10} {:>12} {:>8} {:>11} {:>13} {:>14} {:>14} {:>6}\n",
                     "ranks", "step ms", "sums ms", "exposed ms", "hidden", "efficiency",
                     "samples/s", "MB to nodes", "MB in a node", "by");
  for (const StepPrediction& one : found)
    out += fmt::format(
        "{:>8} {:>10.2f} {:>10.2f} {:>12.2f} {:>6.0f} % {:>9.1f} % {:>13.1f} {:>14.2f} {:>14.2f} "
        "{:>6}\n",
        one.ranks, one.step_s * 1e3, one.sums_s * 1e3, one.exposed_s * 1e3, hidden_share(one) * 100,
        one.efficiency * 100, one.samples_per_s, one.sent_between * 1e-6, one.sent_within * 1e-6,
        to_string(one.algorithm));
  return out +
         "\nMB: sent by one rank in a step. A model, not a measurement: ranks that wait for a "
         "slower one, and loaders, are not in it (docs/scale.md).\n";
}

Json link_json(const analysis::Link& link) {
  return Json{{"bytes_per_s", link.bytes_per_s}, {"latency_s", link.latency_s}};
}

Json scale_json(const ScaleInputs& inputs, const std::vector<StepPrediction>& found) {
  Json pieces = Json::array();
  for (const analysis::GradientPiece& piece : inputs.step.pieces)
    pieces.push_back(Json{{"bytes", piece.bytes}, {"ready_share", piece.ready_share}});
  Json lines = Json::array();
  for (const StepPrediction& one : found)
    lines.push_back(Json{{"ranks", one.ranks},
                         {"step_ms", one.step_s * 1e3},
                         {"sums_ms", one.sums_s * 1e3},
                         {"exposed_ms", one.exposed_s * 1e3},
                         {"hidden_share", hidden_share(one)},
                         {"scaling_efficiency", one.efficiency},
                         {"samples_per_s", one.samples_per_s},
                         {"sent_between_nodes_bytes", one.sent_between},
                         {"sent_within_node_bytes", one.sent_within},
                         {"algorithm", to_string(one.algorithm)}});
  Json json{{"model", inputs.model},
            {"samples_per_rank", inputs.batch},
            {"step_ms", inputs.step.step_s * 1e3},
            {"backward_ms", inputs.step.backward_s * 1e3},
            {"measured", inputs.measured},
            {"contention", inputs.step.contention},
            {"pieces", std::move(pieces)},
            {"link", link_json(inputs.cluster.between)},
            {"per_node", inputs.cluster.per_node}};
  if (inputs.fitted) json["link"]["worst_error"] = inputs.fitted->worst;
  if (inputs.cluster.per_node > 1) json["node_link"] = link_json(inputs.cluster.within);
  json["predictions"] = std::move(lines);
  return json;
}

Result<ExitCode> run_scale(Context& context, const ScaleFlags& flags) {
  SLUICE_TRY(const ScaleInputs inputs, scale_inputs(flags));
  const std::vector<StepPrediction> found = predictions_of(inputs);
  if (context.globals.json)
    print("{}\n", dump_json(scale_json(inputs, found)));
  else
    print("{}", scale_text(inputs, found));
  return ExitCode::done;
}

}  // namespace

void add_scale(CLI::App& root, Context& context) {
  auto [app, flags] = add_command<ScaleFlags>(
      root, context, "scale",
      "Predict a training step of more ranks from a measured one and a link", run_scale);
  add_value(app, "--ranks", flags.ranks, "N,N", "numbers of ranks")->capture_default_str();
  add_value(app, "--result", flags.result, "RUN", "run of `bench training`, with one rank");
  add_value(app, "--model", flags.model, "NAME",
            "instead of a result: a preset, with --batch-size and --step-ms");
  app.add_option("--batch-size", flags.batch_size, "samples of one rank and step, of --model")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--step-ms", flags.step_ms, "a step of one rank, of --model")
      ->check(CLI::Range(0.001, 1e9));
  add_value(app, "--link", flags.link, "RATE",
            "what one rank sends to other nodes: 400Gb/s (bits), 50GB/s (bytes)");
  add_value(app, "--latency", flags.latency, "TIME", "time of a hop between nodes")
      ->capture_default_str();
  add_value(app, "--allreduce", flags.allreduce, "RUN",
            "instead of a link: a run of `bench allreduce`, to which one is fitted");
  add_number(app, "--per-node", flags.per_node, 1, 1024, "ranks of a node");
  add_value(app, "--node-link", flags.node_link, "RATE", "what one rank sends within its node");
  add_value(app, "--node-latency", flags.node_latency, "TIME", "time of a hop within a node")
      ->capture_default_str();
  add_value(
      app, "--bucket", flags.bucket, "BYTES",
      "least size of a piece of gradients; default: that of the device, 4m on CPUs, 8m on GPUs");
  app.add_option("--contention", flags.contention,
                 "how much of a rank adding up takes: 0, backward goes on; 1, it stands still; "
                 "default: 1 on CPUs, else 0")
      ->check(CLI::Range(0.0, 1.0));
  add_examples(app, {"sluice scale --result runs/training --ranks 8,64,512 --link 400Gb/s",
                     "sluice scale --result runs/training --allreduce runs/allreduce --ranks 2,4",
                     "sluice scale --model vit5-small --batch-size 256 --step-ms 25 --link 400Gb/s "
                     "--per-node 8 --node-link 450GB/s --ranks 8,64,800"});
}

}  // namespace sluice::cli
