// tests/train/curve_support.h - a learning curve of a toy model, and how far two of them lie apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/engine.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sluice::train::testing {

inline constexpr int kCurveSteps = 200;
/// Of the first loss, on a GPU. The worst step of an H200 was 0.025 off, that of a Xeon whose
/// products are bf16 too is 0.007 (mean 0.0008, bf16_curve_test): a GPU keeps more in bf16 between
/// its kernels, and where a curve falls steeply a step more or less is a distance. So the worst may
/// be twice what was seen; a wrong gradient does not average out, and the mean has a limit of its
/// own.
inline constexpr double kMostBf16Worst = 0.05, kMostBf16Mean = 0.01;
inline constexpr double kMostCpuWorst = 0.02, kMostCpuMean = 0.004;

struct Curve {
  Regime regime = Regime::fp32;  // that ran: a CPU without bf16 says fp32
  std::vector<float> losses;
};

/// Four classes, each a picture of its own under noise.
struct ToyBatch {
  std::vector<float> images;
  std::vector<std::int32_t> ids, labels;
  [[nodiscard]] BatchView view() const { return {images, false, ids, labels, {}}; }
};

inline ToyBatch toy_batch(const EngineConfig& config, std::uint64_t seed) {
  const std::int64_t of_image = std::int64_t{3} * config.model.image * config.model.image;
  const std::vector<float> pictures = Draws(1).normals<float>(4 * of_image);
  Draws draws(seed);
  ToyBatch held;
  held.images = draws.normals<float>(config.batch * of_image);
  for (int i = 0; i < config.batch; ++i) {
    const auto label = draws.integer(0, 3);
    held.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t p = 0; p < of_image; ++p)
      held.images[static_cast<std::size_t>(i * of_image + p)] +=
          pictures[static_cast<std::size_t>(label * of_image + p)] / 4;
  }
  return held;
}

inline EngineConfig toy_curve_config() {
  EngineConfig config;
  config.model.name = "toy";
  config.model.family = Family::vit5;
  config.model.dim = 64;
  config.model.heads = 2;
  config.model.layers = 3;
  config.model.image = 48;
  config.model.patch = 8;
  config.model.classes = 4;
  config.batch = 16;
  config.update.warmup_steps = 0;
  config.update.kind = OptimizerKind::adamw;
  config.update.learning_rate = 3e-4;  // smooth: a curve with spikes is another one after each
  return config;
}

/// The loss of every step; LayerScale begins away from 1e-4, where a wrong branch is hardly seen.
inline Curve toy_curve(const std::string& device, Regime regime) {
  EngineConfig config = toy_curve_config();
  config.device = device;
  config.regime = regime;
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  Curve curve;
  if (!engine) return curve;
  curve.regime = (*engine)->info().regime;
  Draws draws(5);
  for (const Parameter& p : (*engine)->program().parameters) {
    if (p.name.find(".gamma") == std::string::npos) continue;
    EXPECT_TRUE((*engine)->write(
        p.name, draws.normals<float>((*engine)->program().plan.at(p.value).elements(), 0.3, 0.5)));
  }
  for (int step = 0; step < kCurveSteps; ++step) {
    EXPECT_TRUE(
        (*engine)->micro_step(toy_batch(config, 1000U + static_cast<std::uint64_t>(step)).view()));
    const auto result = (*engine)->update();
    EXPECT_TRUE(result) << result.error().message;
    curve.losses.push_back(result ? result->loss : std::numeric_limits<float>::infinity());
  }
  return curve;
}

/// As shares of the first loss of `exact`.
struct CurveDistance {
  double worst = 0, mean = 0;
};

inline CurveDistance distance(const Curve& curve, const Curve& exact) {
  CurveDistance apart;
  const double first = exact.losses.front();
  for (std::size_t step = 0; step < exact.losses.size(); ++step) {
    const double one =
        std::abs(as_double(curve.losses[step]) - as_double(exact.losses[step])) / first;
    apart.worst = std::max(apart.worst, one);
    apart.mean += one / static_cast<double>(exact.losses.size());
  }
  return apart;
}

}  // namespace sluice::train::testing
