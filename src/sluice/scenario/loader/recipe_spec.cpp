// sluice/scenario/loader/recipe_spec.cpp - fields of the spec, and the stages that are meant.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/recipe_spec.h"

#include "sluice/core/text.h"
#include "sluice/image/video.h"
#include "sluice/loader/loader.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/loader/spec.h"

#include <fmt/format.h>

#include <vector>

namespace sluice::scenario {
namespace {

constexpr const char* kMemoryScope = "memory_dataloader_augment";
constexpr const char* kDecodeScope = "decode_dataloader_augment";
constexpr const char* kCopyScope = "decode_dataloader_augment_batch_copy";
constexpr double kMaxMinTime_s = 86'400;

Status check_stages(const Json& json, const std::string& transform) {
  const auto stages = json.find("recipe");
  if (stages == json.end()) return ok;
  const bool crops = transform == "RandomCrop224" || transform == "RandomResizedCrop";
  std::vector<std::string> meant;
  if (!crops) meant.emplace_back("RandomCrop224");
  meant.insert(meant.end(), {transform, "Normalize", "ToTensor"});
  if (*stages == Json(meant)) return ok;
  return Error{Errc::unsupported, fmt::format("recipe {}: {} is meant", printable(stages->dump()),
                                              Json(meant).dump())};
}

}  // namespace

Result<RecipeSpec> read_recipe_spec(const measure::SubjectContext& context) {
  const Json json = context.spec.is_object() ? context.spec : Json::object();
  const measure::Reply fields("spec", json);
  RecipeSpec spec;
  const bool nine = context.case_name.starts_with("image-9ch/");
  SLUICE_TRY(spec.transform, fields.text("transform", ""));
  if (spec.transform.empty()) return fields.wrong("transform", "the name of a transform");
  SLUICE_CHECK(check_stages(json, spec.transform));
  spec.params = json.value("params", Json::object());
  if (!spec.params.is_object()) return fields.wrong("params", "an object");
  SLUICE_TRY(const auto channels, fields.integer("channels", 3, 9, nine ? 9 : 3));
  spec.channels = static_cast<int>(channels);
  if (context.case_name.starts_with("video-")) {
    SLUICE_TRY(const auto frames, fields.integer("clip_length", 1, image::kMaxClipFrames, 16));
    spec.frames = static_cast<int>(frames);
  }
  SLUICE_TRY(const std::string scope, fields.text("scope", kDecodeScope));
  if (scope != kMemoryScope && scope != kDecodeScope && scope != kCopyScope)
    return fields.wrong("scope",
                        fmt::format("{}, {} or {}", kMemoryScope, kDecodeScope, kCopyScope));
  spec.decodes = scope != kMemoryScope;
  if (scope == kCopyScope) {
    SLUICE_TRY(spec.copy_to, fields.text("copy_to", "cuda"));
  }
  SLUICE_TRY(const auto batch, fields.integer("batch_size", 1, kMaxBatch, 32));
  spec.batch_size = static_cast<std::uint32_t>(batch);
  SLUICE_TRY(const auto workers, fields.integer("workers", 0, loader::Loader::kMaxWorkers, 0));
  spec.workers = static_cast<int>(workers);
  SLUICE_TRY(const double min_time_s, fields.number("min_time_s", 0));
  if (min_time_s > kMaxMinTime_s) return fields.wrong("min_time_s", "at most a day");
  spec.min_time_ns = static_cast<std::int64_t>(min_time_s * 1e9);
  SLUICE_TRY(spec.min_batches, fields.integer("min_batches", 0, std::int64_t{1} << 40, 1));
  spec.seed = context.seed;
  return spec;
}

}  // namespace sluice::scenario
