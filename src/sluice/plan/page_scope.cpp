// sluice/plan/page_scope.cpp - docs/scope.md and docs/run-config.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/schema.h"
#include "sluice/core/text.h"
#include "sluice/measure/policy.h"
#include "sluice/plan/matrix.h"
#include "sluice/plan/output_names.h"
#include "sluice/plan/page_text.h"
#include "sluice/plan/pages.h"
#include "sluice/plan/policy.h"
#include "sluice/plan/recipes.h"
#include "sluice/plan/run_config.h"

#include <fmt/format.h>

#include <map>

namespace sluice::plan {
namespace {

std::string mode_text() {
  return "## Modes\n"
         "| | micro | pipeline | decode |\n|---|---|---|---|\n"
         "| an item | one decoded image or clip, in the library's own layout | one file or sample "
         "| one "
         "video file |\n"
         "| timed | the transform, and making its output contiguous in memory | loading, recipe "
         "and collate "
         "of whole epochs, with starting and ending the loader | opening the file and decoding 16 "
         "frames |\n"
         "| not timed | decoding, layout conversion, Normalize, ToTensor, collate, copies to a "
         "device | "
         "filling memory before the first epoch (memory scope) | listing the files |\n"
         "| threads | `micro-single`: one, in every library | as `execution.thread_policy` says | "
         "`micro-single` unless told |\n"
         "| a pass | every item once | an epoch, repeated until `min_time` and `min_batches` hold "
         "| every "
         "file once |\n"
         "| meant for | profiling one transform | the rate a training run would see | choosing a "
         "decoder "
         "|\n\n"
         "Micro rows are a profiler; tables of pipeline rows come first. On a device inputs are "
         "resident "
         "there before the\nclock starts, and the device is synchronised before both clock "
         "reads.\n";
}

std::string scope_table() {
  struct Words {
    Scope scope;
    const char *source, *decode, *copy;
  };
  constexpr Words kRows[] = {
      {Scope::memory_dataloader_augment, "decoded samples in memory", "no",
       "where the transform runs on a device"},
      {Scope::decode_dataloader_augment, "files", "in the workers",
       "where the transform runs on a device"},
      {Scope::decode_dataloader_augment_batch_copy, "files", "in the workers",
       "always: pinned, then copied"},
  };
  std::string text =
      "\n## Pipeline scopes\n"
      "| `execution.pipeline_scope` | samples come from | decode | collate | copy to the device |\n"
      "|---|---|---|---|---|\n";
  for (const Words& row : kRows)
    text += fmt::format("| `{}` | {} | {} | yes | {} |\n", to_string(row.scope), row.source,
                        row.decode, row.copy);
  return text;
}

std::string recipe_text() {
  std::map<int, std::vector<std::string>> by_size;
  for (const Transform& transform : transforms()) {
    if (has_recipe(transform)) by_size[recipe_shape(transform).height].emplace_back(transform.name);
  }
  std::string text = fmt::format(
      "\n## Recipes\n"
      "A pipeline row applies a recipe to every sample: `{}`,\nor for a transform that crops, "
      "`{}`. "
      "`Normalize` is no recipe of its own.\nThe result is float32, channels first. Parameters are "
      "drawn "
      "for each image, or once for all frames of a clip.\n\n"
      "| output | recipes of |\n|---|---|\n",
      recipe_name("Resize"), recipe_name("RandomResizedCrop"));
  for (const auto& [size, names] : by_size) {
    if (size != 224) text += fmt::format("| {0} x {0} | {1} |\n", size, join(names));
  }
  return text + "| 224 x 224 | all others |\n";
}

std::string shape_text() {
  std::string text =
      "\n## Output shapes in micro mode\n"
      "The worker checks every output before its time counts: number of channels and frames, "
      "finite, "
      "contiguous,\nchanged where the transform must change it, and the height and width of its "
      "class.\n\n"
      "| class | height and width | transforms |\n|---|---|---|\n";
  const std::pair<OutputShape, const char*> kRows[] = {
      {OutputShape::crop, "224 x 224"},
      {OutputShape::target,
       "512 x 512; torchvision keeps the aspect ratio, the shorter side is 512"},
      {OutputShape::padded, "20 more each"},
      {OutputShape::longest, "the longer side is 512"},
      {OutputShape::smallest, "the shorter side is 512"},
      {OutputShape::transposed, "swapped"},
      {OutputShape::quarter_turn, "as they were, or swapped"},
  };
  for (const auto& [shape, words] : kRows) {
    std::vector<std::string> names;
    for (const Transform& transform : transforms()) {
      if (transform.shape == shape) names.emplace_back(transform.name);
    }
    text += fmt::format("| {} | {} | {} |\n", to_string(shape), words, join(names));
  }
  return text + "| same | as they were | all others |\n";
}

std::string status_text() {
  return "\n## Statuses\n"
         "| status | means | in tables |\n|---|---|---|\n"
         "| `ok` | measured | median ± standard deviation |\n"
         "| `early_stopped` | the preflight found it at or above the slow threshold | the marker "
         "below |\n"
         "| `unsupported` | the library or device cannot; the reason is its own text | `-` |\n"
         "| `failed` | wrong output, a crash, a time limit, more threads than the policy allows | "
         "the reason "
         "|\n"
         "| `skipped` | not attempted, because the attempt would harm other rows | the reason |\n";
}

std::string policy_row(std::string_view name, const std::string& image, const std::string& video) {
  return fmt::format("| {} | {} | {} |\n", name, image, video);
}

std::string policy_text() {
  const MediaPolicy& image = media_policy(Media::image);
  const MediaPolicy& video = media_policy(Media::video);
  const auto row = [&](std::string_view name, auto member) {
    return policy_row(name, fmt::format("{}", image.*member), fmt::format("{}", video.*member));
  };
  std::string text = "\n## Thresholds\n| | images | clips |\n|---|--:|--:|\n";
  text += row("items in micro and decode mode, unless told", &MediaPolicy::num_items);
  text += row("slow threshold, seconds per item (inclusive)", &MediaPolicy::slow_item_s);
  text += row("items of the preflight", &MediaPolicy::preflight_items);
  text += row("longest preflight, seconds", &MediaPolicy::max_preflight_s);
  const auto marker = [](const MediaPolicy& policy) {
    return measure::slow_marker(policy.slow_item_s, policy.unit);
  };
  text += policy_row("shown for an early-stopped row", marker(image), marker(video));
  text += row("unit", &MediaPolicy::unit);
  const std::string unstable = fmt::format("{}", measure::Policy{}.unstable_cv);
  text += policy_row("coefficient of variation above which a row is marked unstable", unstable,
                     unstable);
  const std::string runs = std::to_string(measure::kTableRuns);
  text += policy_row("runs of a published table", runs, runs);
  const std::string more = std::to_string(measure::kCloseCallRuns);
  text += policy_row("runs advised where the fastest lie within each other's interval", more, more);
  return text;
}

std::string names_text() {
  OutputKey key{.scenario = "<scenario>", .library = "<library>", .device = "<device>"};
  std::string text =
      "\n## Result files\nThey lie in `results/` of the run folder; `_dev-…` only where a device "
      "was asked "
      "for.\n";
  text += fmt::format("- micro: `{}`\n", output_path(key).generic_string());
  text +=
      "- pipeline: `<scenario>/pipeline/"
      "<library>_<scope>_n<items|all>_r<runs>_w<workers>_b<batch>_dev-<device>_results.json`\n";
  key.mode = Mode::decode;
  key.device = "none";
  key.library = "<decoder>";
  text += fmt::format("- decode: `{}`\n", output_path(key).generic_string());
  return text;
}

}  // namespace

std::string scope_page() {
  std::string text = page_head("What is measured", "src/sluice/plan/page_scope.cpp");
  text +=
      "Which work is inside the timer in each mode, what comes out, and when a row has no number.\n"
      "How the numbers are taken is told in [measuring.md](measuring.md), the libraries in\n"
      "[matrix.md](matrix.md), the transforms in [transforms.md](transforms.md).\n\n";
  text += mode_text();
  text += scope_table();
  text += recipe_text();
  text += shape_text();
  text += status_text();
  text += policy_text();
  text += names_text();
  return text;
}

std::string run_config_page() {
  config::Schema schema;
  const auto described = RunConfig::parse(schema.blank());
  std::string text = page_head("Run configuration", "src/sluice/plan/run_config.cpp");
  text +=
      "A YAML file for `sluice plan` and `sluice run`; ready ones are in `configs/`. Everything is "
      "optional.\n"
      "Flags replace what the file says (`--num-items 100`, or any key: `--set execution.seed=7`), "
      "and the\n"
      "whole is checked after that. An unknown key is an error that names the nearest one. The "
      "configuration\n"
      "in force, nothing left open, is written to `resolved_config.yaml` of the run folder and "
      "into every\n"
      "result file; it can be run again as it is. Sections `cluster`, `slurm` and `k8s` say where "
      "`run\n"
      "--backend` measures ([slurm.md](slurm.md)) and are in neither.\n\n";
  text += described ? schema.markdown() : described.error().message + "\n";
  return text;
}

}  // namespace sluice::plan
