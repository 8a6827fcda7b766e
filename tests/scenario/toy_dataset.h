// tests/scenario/toy_dataset.h - labelled images in memory: the class is the colour.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/rng.h"
#include "sluice/image/codec.h"
#include "sluice/loader/data/dataset.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::scenario::testing {

/// Sample i is of class i % classes: a colour of the class and noise, 48 x 48.
class ToyDataset final : public loader::Dataset {
 public:
  ToyDataset(std::uint64_t size, int classes, std::uint64_t seed = 0) : classes_(classes) {
    constexpr int kSide = 48;
    for (std::uint64_t i = 0; i < size; ++i) {
      RngKey key;
      key.seed = seed;
      key.index = i;
      Rng random(key);
      image::Image picture = image::Image::make(kSide, kSide, 3).value();
      const auto pixels = picture.span<std::uint8_t>();
      const auto colour = static_cast<unsigned>(i % static_cast<unsigned>(classes)) + 1;
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x)
          for (int c = 0; c < 3; ++c)
            pixels.at(x, y, c) = static_cast<std::uint8_t>(
                ((colour >> static_cast<unsigned>(c)) & 1U) * 120U + random.below(100));
      std::vector<std::uint8_t> bytes;
      EXPECT_TRUE(image::encode_png(bytes, picture.view<std::uint8_t>()));
      files_.push_back(std::move(bytes));
    }
  }

  [[nodiscard]] std::uint64_t size() const override { return files_.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return "class" + std::to_string(label_of(index)) + "/" + std::to_string(index) + ".png";
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return labelled ? label_of(index) : -1;
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return files_[index].size();
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    return std::as_bytes(std::span(files_[index]));
  }
  void cancel() const override {}

  bool labelled = true;

 private:
  [[nodiscard]] std::int64_t label_of(std::uint64_t index) const {
    return static_cast<std::int64_t>(index % static_cast<std::uint64_t>(classes_));
  }
  int classes_;
  std::vector<std::uint64_t> starts_{0};
  std::vector<std::vector<std::uint8_t>> files_;
};

}  // namespace sluice::scenario::testing
