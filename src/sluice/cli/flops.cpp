// sluice/cli/flops.cpp - `sluice flops`: what a model costs, from its shapes, and what that allows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flops.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/train/model/flop_scaling.h"
#include "sluice/train/profile/peaks.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace sluice::cli {
namespace {

using train::Family;
using train::MfuEstimator;
using train::ModelFlops;
using train::ModelSpec;

constexpr const char* kAssumedDevice = "H100 SXM";  // the same dense rate as an H200
constexpr const char* kConvention =
    "one multiply-add is 2 FLOP; matrix products only; training is 3 forwards";

struct FlopsArgs {
  std::string model;
  int batch_size = 0;  // 0: 256, of a GPT 8
  int seq_len = 0;     // 0: the preset's
  std::string dtype = "bf16";
  std::optional<double> peak_tflops;
  std::string device_name;
  std::optional<double> step_ms;
  bool scaling = false;
};

/// The rate that the rest is computed with; none, and why.
struct Peak {
  std::optional<double> tflops;
  std::string device;
  std::string source;
  bool assumed = false;
  std::string reason;
};

Result<Peak> peak_of(const FlopsArgs& args) {
  SLUICE_TRY(const train::PeakType type, train::parse_peak_type(args.dtype));
  Peak out;
  out.device = args.device_name;
  if (args.peak_tflops) {
    out.tflops = args.peak_tflops;
    out.source = "--peak-tflops";
    return out;
  }
  out.assumed = args.device_name.empty();
  if (out.assumed) out.device = kAssumedDevice;
  const auto tflops = train::peak_tflops(out.device, type);
  if (!tflops) {
    out.reason = tflops.error().message;
    return out;
  }
  out.tflops = *tflops;
  out.source = train::find_peak(out.device)->source;
  return out;
}

/// One preset, all of a family ("gpt"), or all.
Result<std::vector<ModelSpec>> models_of(const FlopsArgs& args) {
  std::vector<ModelSpec> models;
  for (const ModelSpec& model : train::model_presets()) {
    const std::string family = model.family == Family::vit5 ? "vit5" : "gpt";
    if (args.model.empty() || args.model == family) models.push_back(model);
  }
  if (models.empty()) {
    SLUICE_TRY(ModelSpec model, train::find_model(args.model));
    models.push_back(std::move(model));
  }
  if (args.seq_len > 0) {
    for (ModelSpec& model : models) {
      if (model.family != Family::gpt) {
        return Error{
            Errc::usage,
            fmt::format("--seq-len {}: {} has no sequence; it is for gpt, gpt-tiny and gpt-small",
                        args.seq_len, model.name)};
      }
      model.sequence = args.seq_len;
      SLUICE_CHECK(train::check_model(model));
    }
  }
  return models;
}

int batch_of(const ModelSpec& model, const FlopsArgs& args) {
  return args.batch_size > 0 ? args.batch_size : model.family == Family::vit5 ? 256 : 8;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Samples per second at the peak.
std::optional<double> most_samples(const ModelFlops& flops, const Peak& peak) {
  if (!peak.tflops) return std::nullopt;
  return *peak.tflops * 1e12 / static_cast<double>(flops.train);
}

Json json_of(const ModelSpec& model, const FlopsArgs& args, const Peak& peak) {
  const ModelFlops flops = train::count_flops(model);
  const int batch = batch_of(model, args);
  const auto samples = most_samples(flops, peak);
  Json out{{"model", model.name},
           {"parameters", flops.parameters},
           {"non_embedding_parameters", flops.non_embedding_parameters},
           {"tokens_per_sample", model.tokens()},
           {"forward_flop", flops.forward},
           {"train_flop", flops.train},
           {"max_samples_per_s", or_null(samples)}};
  if (!samples) out["max_samples_per_s_reason"] = peak.reason;
  out["peak"] = {{"tflops", or_null(peak.tflops)},
                 {"dtype", args.dtype},
                 {"device", peak.device.empty() ? Json(nullptr) : Json(peak.device)},
                 {"source", peak.source.empty() ? Json(nullptr) : Json(peak.source)},
                 {"assumed", peak.assumed}};
  out["batch_size"] = batch;
  for (const auto estimator :
       {MfuEstimator::shapes, MfuEstimator::six_nd, MfuEstimator::transformer_aware}) {
    const double flop = train::step_flop(model, estimator, batch);
    out["step_flop"][train::to_string(estimator)] = std::llround(flop);
    if (!args.step_ms) continue;
    out["mfu"][train::to_string(estimator)] =
        peak.tflops ? Json(train::mfu(flop, *args.step_ms / 1e3, 1, *peak.tflops)) : Json(nullptr);
  }
  out["components"] = Json::array();
  for (const auto& item : flops.items) {
    out["components"].push_back(
        {{"component", item.component},
         {"parameters", item.parameters},
         {"forward_flop", item.forward},
         {"share", static_cast<double>(item.forward) / static_cast<double>(flops.forward)}});
  }
  out["convention"] = kConvention;
  return out;
}

std::string peak_text(const Peak& peak, const std::string& dtype) {
  if (!peak.tflops) return peak.reason + "\n";
  return fmt::format("{:g} dense {} TFLOP/s{} ({}){}\n", *peak.tflops, dtype,
                     peak.device.empty() ? "" : ", " + printable(peak.device), peak.source,
                     peak.assumed ? ", assumed: --device-name or --peak-tflops says another" : "");
}

std::string text_of(const ModelSpec& model, const FlopsArgs& args, const Peak& peak) {
  const ModelFlops flops = train::count_flops(model);
  const int batch = batch_of(model, args);
  std::string out = fmt::format("{}: {} parameters, {} tokens per sample\n\n", model.name,
                                report::integer(flops.parameters), model.tokens());
  const auto row = [&](const std::string& name, std::int64_t parameters, std::int64_t forward) {
    out += fmt::format("  {:<28}{:>14}{:>20}{:>8.2f} %\n", name, report::integer(parameters),
                       report::integer(forward),
                       100 * static_cast<double>(forward) / static_cast<double>(flops.forward));
  };
  out += fmt::format("  {:<28}{:>14}{:>20}{:>10}\n", "component", "parameters", "forward FLOP",
                     "share");
  for (const auto& item : flops.items)
    row(item.component, item.parameters, item.forward);
  row("forward", flops.parameters, flops.forward);
  out += fmt::format("  {:<28}{:>34}\n\n", "training (3 forwards)", report::integer(flops.train));

  out += "peak: " + peak_text(peak, args.dtype);
  if (const auto samples = most_samples(flops, peak)) {
    out += fmt::format("at most {} samples/s, {} tokens/s\n", report::significant(*samples, 5),
                       report::significant(*samples * model.tokens(), 5));
  }
  out += fmt::format("step of {} samples:", batch);
  const char* comma = "";
  for (const auto estimator :
       {MfuEstimator::shapes, MfuEstimator::six_nd, MfuEstimator::transformer_aware}) {
    const double flop = train::step_flop(model, estimator, batch);
    out += fmt::format("{} {} TFLOP by {}", comma, report::significant(flop / 1e12, 4),
                       train::to_string(estimator));
    if (args.step_ms && peak.tflops)
      out += fmt::format(" (MFU {:.2f} %)",
                         100 * train::mfu(flop, *args.step_ms / 1e3, 1, *peak.tflops));
    comma = ",";
  }
  return out + fmt::format("\n{}\n", kConvention);
}

Json scaling_json(const std::vector<train::ScalingRow>& rows) {
  const auto both = [](const train::MixerFlops& flops) {
    return Json{{"train", flops.train}, {"infer", flops.infer}};
  };
  Json out = Json::array();
  for (const auto& row : rows) {
    out.push_back({{"grid_side", row.grid},
                   {"image_size", row.image},
                   {"num_patches", row.patches},
                   {"attention", both(row.attention)},
                   {"hyena", both(row.hyena)},
                   {"hyena_film", both(row.hyena_film)},
                   {"ckconv", both(row.ckconv)},
                   {"ckconv_film", both(row.ckconv_film)}});
  }
  return out;
}

std::string scaling_text(const std::vector<train::ScalingRow>& rows) {
  std::string out = fmt::format(
      "forward GFLOP per sample\n{:>5}{:>9}{:>11}{:>11}{:>11}{:>11}"
      "{:>11}{:>11}\n",
      "grid", "patches", "attention", "Hyena", "kept", "FiLM", "CKConv", "kept");
  for (const auto& row : rows) {
    out += fmt::format("{:>5}{:>9}", row.grid, row.patches);
    for (const double flop : {row.attention.train, row.hyena.train, row.hyena.infer,
                              row.hyena_film.train, row.ckconv.train, row.ckconv.infer})
      out += fmt::format("{:>11}", report::significant(flop / 1e9, 4));
    out += '\n';
  }
  return out + "kept: inference, kernels generated before; CKConv is a part of Hyena\n";
}

Result<ExitCode> run_scaling(const FlopsArgs& args, const Globals& globals) {
  SLUICE_TRY(const ModelSpec model,
             train::find_model(args.model.empty() ? "vit5-small" : args.model));
  if (model.family != Family::vit5) {
    return Error{Errc::usage,
                 fmt::format("--scaling: {} has no patches; vit5-tiny, vit5-small, vit5-base are "
                             "accepted",
                             model.name)};
  }
  const auto rows = train::flop_scaling(model, train::scaling_grids());
  const std::filesystem::path folder = globals.out.empty() ? "." : globals.out;
  OutputFiles written(globals);
  SLUICE_CHECK(written.claim({folder / "flop_scaling.csv", folder / "flop_scaling.svg"}));
  SLUICE_CHECK(written.write(folder / "flop_scaling.csv", train::scaling_csv(rows)));
  SLUICE_CHECK(written.write(folder / "flop_scaling.svg", train::scaling_svg(rows)));
  const Json files{(folder / "flop_scaling.csv").string(), (folder / "flop_scaling.svg").string()};
  const std::string text =
      globals.json
          ? dump_json({{"model", model.name}, {"scaling", scaling_json(rows)}, {"files", files}}) +
                "\n"
          : fmt::format("{}\n{}{}\n{}\n", model.name, scaling_text(rows),
                        files[0].get<std::string>(), files[1].get<std::string>());
  print_text(text);
  return ExitCode::done;
}

Result<ExitCode> run_flops(const FlopsArgs& args, const Globals& globals) {
  if (args.scaling) return run_scaling(args, globals);
  SLUICE_TRY(const auto models, models_of(args));
  SLUICE_TRY(const Peak peak, peak_of(args));
  Json documents = Json::array();
  std::string text;
  for (const ModelSpec& model : models) {
    documents.push_back(json_of(model, args, peak));
    text += (text.empty() ? "" : "\n") + text_of(model, args, peak);
  }
  const bool one = models.size() == 1;
  const std::string json = dump_json(one ? documents[0] : Json{{"models", documents}}) + "\n";
  if (!globals.out.empty()) SLUICE_CHECK(write_output(globals, globals.out / "flops.json", json));
  const std::string& shown = globals.json ? json : text;
  print_text(shown);
  return ExitCode::done;
}

}  // namespace

void add_flops(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<FlopsArgs>(
      root, context, "flops",
      "Count the FLOPs of a model from its shapes, and what the hardware allows", run_flops);
  sub.add_option("--model", args.model,
                 "model: vit5-tiny, vit5-small, vit5-base, gpt-tiny, gpt-small, or a whole family: "
                 "vit5, gpt (default: all)");
  sub.add_option("--batch-size", args.batch_size, "samples per step (default 256, GPT 8)")
      ->check(CLI::Range(1, 1 << 24));
  sub.add_option("--seq-len", args.seq_len, "tokens per sample of a GPT (default: the preset's)")
      ->check(CLI::Range(1, 65'536));
  add_choice(sub, "--dtype", args.dtype, {"bf16", "fp16", "fp32"},
             "number format whose peak is used");
  sub.add_option("--peak-tflops", args.peak_tflops, "dense peak TFLOP/s of the device")
      ->check(CLI::Range(1e-3, 1e6));
  sub.add_option("--device-name", args.device_name,
                 "device whose peak is used, as its driver names it (default: H100 SXM)");
  sub.add_option("--step-ms", args.step_ms, "measured step time in milliseconds, to print its MFU")
      ->check(CLI::Range(1e-6, 1e9));
  sub.add_flag("--scaling", args.scaling,
               "write the FLOPs of attention, Hyena and Hyena+FiLM over image sizes to "
               "flop_scaling.csv and flop_scaling.svg in --out");
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice flops --model vit5-small --json",
                     "sluice flops --model gpt --device-name 'NVIDIA A100-SXM4-80GB'",
                     "sluice flops --scaling --out scaling"});
}

}  // namespace sluice::cli
