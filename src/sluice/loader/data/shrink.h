// sluice/loader/data/shrink.h - a data set of images written again, smaller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/image/shrink.h"
#include "sluice/loader/data/dataset.h"

#include <filesystem>
#include <functional>

namespace sluice::loader {

struct ShrinkPlan {
  std::filesystem::path out;  // a folder that is not there yet, or is empty
  image::ShrinkOptions image{};
  unsigned threads = 1;
  std::function<bool()> stop{};
};

struct ShrinkReport {
  std::uint64_t images = 0;
  std::uint64_t shrunk = 0;  // the others were small already and are copied
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes = 0;
};

/// Every image under its own name, so that labels by folder stay. Samples inside shards or bundles
/// (their names have a ':') are refused: unpack them first. What was stopped or failed leaves no
/// folder that was not there before.
Result<ShrinkReport> shrink_images(const Dataset& dataset, const ShrinkPlan& plan,
                                   Progress& progress = Progress::silent());

}  // namespace sluice::loader
