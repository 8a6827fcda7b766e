// sluice/scenario/loader/spec.h - what a loader row reads and how: the spec of `prepare`, opened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/measure/subject.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace sluice::scenario {

inline constexpr std::int64_t kMaxBatch = 65'536;  // samples, of a loader and of a trainer

/// Every field of the spec, docs/dataloader.md. Credentials are none of them: they come from the
/// environment.
struct LoaderSpec {
  std::string input;  // folder or URI; empty: the folder of `load`
  std::string endpoint, region;
  bool anonymous = false;
  std::string cache_dir;
  std::string read_mode = "buffered";
  std::uint32_t batch_size = 256;
  int workers = 2;
  int prefetch = 2;
  std::uint64_t epoch_items = 0;  // 0: all
  bool spread = false;            // epoch_items spread over the data, not the first ones
  std::uint64_t seed = 0;
  double step_ms = 0;  // what the consumer does with a batch; 0: nothing
  bool pin_memory = false;
  bool persistent_workers = true;
  bool skip_errors = false;
  bool first_epoch = false;  // a pass is `pass_batches` from the start, nothing touched before
  bool drop_cache = false;   // of the system, before a sample
  std::uint64_t pass_batches = 1;
  std::string trace;  // file to write; empty: none
};

/// Unknown fields are ignored, wrong types and values out of range are usage errors.
Result<LoaderSpec> read_loader_spec(const measure::SubjectContext& context);

/// A dataset, and the store below it.
struct LoaderInput {
  std::shared_ptr<storage::ObjectStore> store;
  std::shared_ptr<const loader::Dataset> dataset;
  std::filesystem::path folder;  // where the objects of the store lie; empty: not on this machine
  std::int64_t open_ns = 0;      // to list and open it
  std::uint64_t all_items = 0;   // before epoch_items
};
Result<LoaderInput> open_loader_input(const LoaderSpec& spec);

/// By the case: "loader/rrc224", "loader/rrc224-antialias" or "loader/raw".
Result<std::shared_ptr<const loader::Recipe>> recipe_of(const std::string& case_name,
                                                        const loader::Dataset& dataset);
/// The whole central square, u8 HWC: what is compared with other libraries. `unsupported` for raw
/// arrays.
Result<std::shared_ptr<const loader::Recipe>> fixed_recipe_of(const std::string& case_name);

}  // namespace sluice::scenario
