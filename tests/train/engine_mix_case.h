// tests/train/engine_mix_case.h - an engine that mixes the batch it holds, on any device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/engine.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <string>
#include <vector>

namespace sluice::train::testing {

/// The images in the engine are those that mix_images() makes of the same batch, bit by bit, and an
/// odd batch is refused.
inline void engine_mixes_where_it_holds_the_batch(const std::string& device) {
  EngineConfig config;
  config.model.name = "toy";
  config.model.dim = 64;
  config.model.heads = 2;
  config.model.layers = 1;
  config.model.image = 20;
  config.model.patch = 4;
  config.model.classes = 5;
  config.device = device;
  config.batch = 4;
  config.soft_targets = true;
  const auto engine = Engine::make(config);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  Draws draws(2026);
  const std::vector<std::int32_t> labels = {0, 1, 2, 3};
  for (std::uint64_t step = 0; step < 12; ++step) {
    SCOPED_TRACE(step);
    const std::vector<float> images = draws.normals<float>(std::int64_t{4} * 3 * 20 * 20);
    std::vector<float> expected = images, targets(std::size_t{4} * 5);
    BatchView view;
    view.images = images;
    view.channels_last = step % 2 == 0;
    view.labels = labels;
    view.mix = draw_mixup({}, 7, step, 0, 20, 20);
    if (step >= 10) view.mix = {};
    ASSERT_TRUE(mix_images({expected, 4, 3, 20, 20, view.channels_last}, view.mix));
    ASSERT_TRUE(mix_targets(targets, labels, 5, view.mix.lambda, 0));
    view.soft_targets = targets;
    const Status stepped = (*engine)->micro_step(view);
    ASSERT_TRUE(stepped) << stepped.error().message;
    const auto update = (*engine)->update();
    ASSERT_TRUE(update.has_value()) << update.error().message;
    const auto held = (*engine)->read("images");
    ASSERT_TRUE(held.has_value()) << held.error().message;
    EXPECT_EQ(*held, expected);
  }
  config.batch = 3;
  const auto odd = Engine::make(config);
  ASSERT_TRUE(odd.has_value());
  const std::vector<float> images(std::size_t{3} * 3 * 20 * 20), targets(std::size_t{3} * 5, 0.2F);
  BatchView view;
  view.images = images;
  view.labels = std::span(labels).first(3);
  view.soft_targets = targets;
  view.mix.kind = MixupDraw::Kind::mixup;
  const Status refused = (*odd)->micro_step(view);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("even"), std::string::npos) << refused.error().message;
}

}  // namespace sluice::train::testing
