// sluice/visit/train/data.cpp - the data of a training: opened, split, the classes of images
// checked; those of tokens are the vocabulary, which opening looks at.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/scenario/loader/split_dataset.h"
#include "sluice/scenario/loader/subset_dataset.h"
#include "sluice/visit/train/request.h"
#include "sluice/visit/train/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;
using Dataset = std::shared_ptr<const loader::Dataset>;

scenario::LoaderSpec spec_of(const TrainRequest& request, const std::string& input) {
  const LoaderRequest& loader = request.loader;
  scenario::LoaderSpec spec;
  spec.input = input;
  spec.endpoint = loader.endpoint;
  spec.region = loader.region;
  spec.anonymous = loader.anonymous;
  spec.cache_dir = loader.cache_dir;
  spec.read_mode = loader.read_mode;
  spec.batch_size = static_cast<std::uint32_t>(loader.batch_size);
  spec.workers = loader.workers;
  spec.prefetch = loader.prefetch;
  spec.device = request.engine.device;
  spec.upload = loader.upload;
  spec.lanes = loader.lanes;
  spec.three_augment = loader.three_augment;
  spec.decode_scaled = loader.decode_scaled;
  spec.random_erasing = loader.random_erasing;
  spec.pin_memory = loader.pin_memory;
  spec.persistent_workers = loader.persistent_workers;
  spec.seed = request.engine.seed;
  spec.skip_errors = request.skip_errors;
  spec.sequence = loader.sequence;
  spec.vocabulary = loader.vocabulary;
  if (request.world != nullptr) {
    spec.rank = static_cast<std::uint32_t>(request.world->ranks().rank());
    spec.ranks = static_cast<std::uint32_t>(request.world->ranks().size());
  }
  return spec;
}

/// Every command reads the share it is given, at least one sample.
Dataset part_of(Dataset whole, double share) {
  const auto count = static_cast<std::uint64_t>(
      std::max(1.0, std::ceil(static_cast<double>(whole->size()) * share)));
  if (count >= whole->size()) return whole;
  return std::make_shared<scenario::SubsetDataset>(std::move(whole), count, true);
}

Result<Dataset> open_part(const TrainRequest& request, const std::string& input) {
  SLUICE_TRY(scenario::LoaderInput opened, scenario::open_loader_input(spec_of(request, input)));
  return part_of(std::move(opened.dataset), request.loader.sample_ratio);
}

Result<std::unique_ptr<scenario::TrainingFeed>> feed_of(const TrainRequest& request,
                                                        const std::string& input, Dataset dataset,
                                                        scenario::FeedUse use) {
  scenario::FeedOptions options;
  options.loader = spec_of(request, input);
  options.set_model(request.engine.model);
  options.use = use;
  return scenario::TrainingFeed::make(std::move(dataset), options);
}

/// Of images; nothing for tokens, each of which is the target of those before it.
Result<std::optional<scenario::DatasetClasses>> find_classes(const TrainRequest& request,
                                                             const loader::Dataset& dataset,
                                                             const std::string& input) {
  if (request.loader.sequence > 0) return std::optional<scenario::DatasetClasses>();
  scenario::DatasetClasses classes = scenario::classes_of(dataset);
  const std::string shown = printable(input);
  if (classes.count == 0)
    return Error{Errc::invalid_input,
                 fmt::format("{}: its samples have no class; images lie in one folder per class "
                             "(cats/1.jpg), as `sluice data make --classes 4` writes them",
                             shown)};
  if (classes.count == 1)
    return Error{
        Errc::invalid_input,
        fmt::format("{}: has one class{}; at least two are needed to learn anything", shown,
                    classes.names.empty() ? "" : ", " + printable(classes.names.front()))};
  return std::optional(std::move(classes));
}

/// Labels are places among the sorted folders: both sides need the same ones.
Status check_same(const scenario::DatasetClasses& train, const scenario::DatasetClasses& other,
                  const std::string& input) {
  if (train.names.empty() || other.names.empty() || train.names == other.names) return ok;
  const auto differ =
      std::mismatch(train.names.begin(), train.names.end(), other.names.begin(), other.names.end());
  const bool missing = differ.first != train.names.end();
  return Error{Errc::invalid_input,
               fmt::format("{}: its class folders are not those of the training data: {} is {}",
                           printable(input), printable(missing ? *differ.first : *differ.second),
                           missing ? "missing or elsewhere in the order" : "in one of them only")};
}

struct Inputs {
  std::string train, validation;  // validation empty: none of its own
};

Inputs inputs_of(const TrainRequest& request) {
  Inputs inputs{request.loader.input, request.val_input};
  const fs::path folder(request.loader.input);
  std::error_code problem;
  if (inputs.validation.empty() && !request.loader.remote &&
      fs::is_directory(folder / "train", problem) && fs::is_directory(folder / "val", problem))
    inputs = {(folder / "train").string(), (folder / "val").string()};
  return inputs;
}

}  // namespace

Result<TrainData> open_train_data(const TrainRequest& request) {
  const Inputs inputs = inputs_of(request);
  TrainData data;
  SLUICE_TRY(Dataset train, open_part(request, inputs.train));
  SLUICE_TRY(data.classes, find_classes(request, *train, inputs.train));
  Dataset validation;
  if (!inputs.validation.empty()) {
    SLUICE_TRY(validation, open_part(request, inputs.validation));
    if (data.classes)
      SLUICE_CHECK(check_same(*data.classes, scenario::classes_of(*validation), inputs.validation));
    data.validation_from = inputs.validation;
  } else if (request.val_split > 0) {
    scenario::DatasetSplit split = scenario::split_dataset(std::move(train), request.val_split);
    train = std::move(split.train);
    validation = std::move(split.validation);
    data.validation_from =
        validation ? fmt::format("{:g} % of the input", request.val_split * 100)
                   : fmt::format("none: {:g} % of the input is no sample", request.val_split * 100);
  } else {
    data.validation_from = "none: not asked for";
  }
  SLUICE_TRY(data.train,
             feed_of(request, inputs.train, std::move(train), scenario::FeedUse::train));
  if (validation) {
    SLUICE_TRY(data.validation, feed_of(request, inputs.validation, std::move(validation),
                                        scenario::FeedUse::validation));
  }
  return data;
}

Result<TrainData> open_validation_data(const TrainRequest& request) {
  TrainData data;
  const std::string& input = request.loader.input;
  SLUICE_TRY(Dataset dataset, open_part(request, input));
  SLUICE_TRY(data.classes, find_classes(request, *dataset, input));
  data.validation_from = input;
  SLUICE_TRY(data.validation,
             feed_of(request, input, std::move(dataset), scenario::FeedUse::validation));
  return data;
}

}  // namespace sluice::visit
