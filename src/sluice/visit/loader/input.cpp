// sluice/visit/loader/input.cpp - looks at the input before anything is written or started.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/env/machine.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/visit/loader/rows.h"
#include "sluice/visit/loader/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::visit {
namespace {

/// Hashing names of millions of objects takes seconds: the first ones, and the number of all.
constexpr std::uint64_t kHashed = 1'000'000;

}  // namespace

Result<scenario::LoaderInput> open_input(const LoaderRequest& request,
                                         const std::string& cache_dir) {
  scenario::LoaderSpec spec;
  spec.input = request.input;
  spec.endpoint = request.endpoint;
  spec.region = request.region;
  spec.anonymous = request.anonymous;
  spec.cache_dir = cache_dir;
  spec.read_mode = request.read_mode;
  spec.clips = request.clips;
  spec.sequence = request.sequence;
  spec.vocabulary = request.vocabulary;
  return scenario::open_loader_input(spec);
}

std::uint64_t items_of_epoch(std::uint64_t items, double ratio) {
  const double share = std::ceil(static_cast<double>(items) * ratio);
  return std::min(items, static_cast<std::uint64_t>(share));
}

Result<InputFacts> inspect_input(const LoaderRequest& request) {
  SLUICE_TRY(const scenario::LoaderInput input, open_input(request));
  const loader::Dataset& data = *input.dataset;
  InputFacts facts;
  facts.three_augment = request.three_augment;
  facts.items = data.size();
  facts.epoch_items = items_of_epoch(facts.items, request.sample_ratio);
  const auto batch = static_cast<std::uint64_t>(request.batch_size);
  if (batch > facts.epoch_items) {
    return Error{
        Errc::usage,
        fmt::format("--batch-size {}: is larger than the data set, {} sample{}{}; at most that is "
                    "accepted",
                    batch, facts.epoch_items, facts.epoch_items == 1 ? "" : "s",
                    facts.epoch_items == facts.items
                        ? ""
                        : fmt::format(" with --sample-ratio {:g}", request.sample_ratio))};
  }
  Sha256 sha;
  for (std::uint64_t i = 0; i < facts.items; ++i) {
    facts.bytes += data.bytes(i);
    if (i < kHashed) sha.update(fmt::format("{}\n{}\n", data.name(i), data.bytes(i)));
  }
  facts.hash = fmt::format("names+sizes:{}", sha.hex());
  const std::string first = data.name(0);
  facts.arrays = first.ends_with(".npy") || first.ends_with(".raw");
  facts.clips = loader::is_clip_key(first);
  return facts;
}

std::filesystem::path storage_of(const LoaderRequest& request) {
  return request.remote ? "." : request.input;
}

std::string storage_kind(const LoaderRequest& request) {
  if (request.remote) return request.input.starts_with("gs://") ? "gcs" : "s3";
  const env::Storage storage = env::read_storage(env::SystemRoot(), request.input);
  const std::string kind = storage.kind ? *storage.kind : "";
  const bool past_cache = request.read_mode == "direct";
  if (kind == "network") return past_cache ? "network-cold" : "network";
  if (kind == "memory" || kind == "shared") return kind;
  return past_cache ? "disk-cold" : "page-cache";
}

std::vector<std::string> storage_names(const std::vector<LoaderRequest>& inputs) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const LoaderRequest& input : inputs) {
    const std::string kind = storage_kind(input);
    const int number = ++seen[kind];
    names.push_back(number == 1 ? kind : fmt::format("{}-{}", kind, number));
  }
  return names;
}

results::Dataset dataset_of(const InputFacts& input) {
  return {input.hash, static_cast<std::int64_t>(input.items),
          static_cast<std::int64_t>(input.bytes)};
}

results::Timing loader_timing(const LoaderRequest& request, const InputFacts& input) {
  return {.scope = "loader",
          .data_source = request.remote ? "bucket" : "file",
          .includes_decode = !input.arrays,
          .includes_collate = true,
          .includes_transfer = request.gpu_index >= 0};
}

std::string base_case(const InputFacts& input) {
  if (input.arrays) return "loader/raw";
  if (input.clips) return kClipCase;
  return input.three_augment ? "loader/three-augment" : "loader/rrc224-antialias";
}

Json loader_spec_json(const DataloaderPlan& plan, const InputFacts& input, std::uint64_t seed) {
  const LoaderRequest& loader = plan.loader;
  Json spec{{"input", loader.input},
            {"batch_size", loader.batch_size},
            {"workers", loader.workers},
            {"prefetch", loader.prefetch},
            {"seed", seed >> 1U},
            {"epoch_items", input.epoch_items < input.items ? input.epoch_items : 0},
            {"spread", plan.libraries.size() == 1},
            {"device", loader.device},
            {"pin_memory", loader.pin_memory},
            {"persistent_workers", loader.persistent_workers},
            {"skip_errors", plan.skip_errors}};
  if (input.clips) spec["clips"] = true;
  if (loader.three_augment) spec["recipe"] = "three-augment";
  if (loader.decode_scaled) spec["decode"] = "scaled";
  if (loader.random_erasing > 0) spec["random_erasing"] = loader.random_erasing;
  if (loader.gpu_index >= 0) {
    spec["upload"] = scenario::to_string(loader.upload);
    spec["loader"] = to_string(loader.lanes);
  }
  if (loader.remote) {
    spec["endpoint"] = loader.endpoint;
    spec["region"] = loader.region;
    spec["anonymous"] = loader.anonymous;
    spec["cache_dir"] = loader.cache_dir;
  } else {
    spec["read_mode"] = loader.read_mode;
  }
  return spec;
}

}  // namespace sluice::visit
