// tests/scenario/small_episodes.h - the data sets of small4, made once for all tests of a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/episodes/episode_maker.h"
#include "sluice/scenario/mixture/spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace sluice::scenario::testing {

template <int kEpisodes>  // of each data set
class SmallEpisodes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = std::filesystem::temp_directory_path() / fmt::format("sluice-small-{}", ::getpid());
    const auto made =
        loader::episodes::make_episodes({.folder = root_,
                                         .preset = **loader::episodes::find_preset("small4"),
                                         .episodes = kEpisodes,
                                         .seed = 1});
    ASSERT_TRUE(made) << made.error().message;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(root_); }

  /// Batches of 8 of them.
  static MixtureSpec small_spec(std::uint64_t warmup, std::uint64_t steps, int image_size) {
    MixtureSpec spec;
    spec.root = root_.string();
    spec.preset = "small4";
    spec.warmup = warmup;
    spec.steps = steps;
    spec.options.batch_size = 8;
    spec.options.image_size = image_size;
    return spec;
  }

  static inline std::filesystem::path root_;
};

}  // namespace sluice::scenario::testing
