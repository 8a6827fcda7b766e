// tests/train/update_test.cpp - LAMB, AdamW and the average against the formulas in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/update.h"

#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/train/support.h"
#include <cmath>
#include <cstring>
#include <vector>

namespace sluice::train::cpu::update_test {
namespace {

using testing::Draws;
using testing::relative_error;

template <class T>
struct Tensor {
  std::vector<T> value, gradient, first, second, average;
  bool decayed = false;
};
template <class T>
using Tensors = std::vector<Tensor<T>>;

template <class To, class From>
Tensors<To> converted(const Tensors<From>& from) {
  Tensors<To> made;
  for (const Tensor<From>& t : from)
    made.push_back({testing::converted<To>(t.value), testing::converted<To>(t.gradient),
                    testing::converted<To>(t.first), testing::converted<To>(t.second),
                    testing::converted<To>(t.average), t.decayed});
  return made;
}

double norm(const std::vector<double>& values) {
  return std::sqrt(testing::dot(values, values));
}

double norm_of_gradients(const Tensors<double>& tensors) {
  double sum = 0;
  for (const Tensor<double>& t : tensors)
    sum += testing::dot(t.gradient, t.gradient);
  return std::sqrt(sum);
}

/// What docs and issue say, one element after the other.
void reference_step(Tensors<double>& tensors, const OptimizerConfig& c, std::uint64_t step) {
  const double all = norm_of_gradients(tensors);
  const double clip = c.max_gradient_norm > 0 ? std::max(all / c.max_gradient_norm, 1.0) : 1.0;
  const double t = static_cast<double>(step + 1), lr = learning_rate_at(c, step);
  const double bias1 = 1 - std::pow(c.beta1, t), bias2 = 1 - std::pow(c.beta2, t);
  for (Tensor<double>& tensor : tensors) {
    const double decay = tensor.decayed ? c.weight_decay : 0;
    const double value_norm = norm(tensor.value);
    std::vector<double> u(tensor.value.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double g = tensor.gradient[i] / clip;
      double &m = tensor.first[i], &v = tensor.second[i];
      m = c.beta1 * m + (1 - c.beta1) * g;
      v = c.beta2 * v + (1 - c.beta2) * g * g;
      u[i] = m / bias1 / (std::sqrt(v / bias2) + c.epsilon);
      if (c.kind == OptimizerKind::lamb) u[i] += decay * tensor.value[i];
    }
    double ratio = lr;
    if (c.kind == OptimizerKind::lamb && decay != 0 && value_norm != 0 && norm(u) != 0)
      ratio = lr * value_norm / norm(u);
    for (std::size_t i = 0; i < u.size(); ++i) {
      double& p = tensor.value[i];
      if (c.kind == OptimizerKind::adamw) p *= 1 - lr * decay;
      p -= ratio * u[i];
      if (!tensor.average.empty())
        tensor.average[i] =
            c.average_decay * tensor.average[i] + (1 - c.average_decay) * tensor.value[i];
    }
    if (c.kind == OptimizerKind::lamb) tensor.gradient = u;
  }
}

std::vector<UpdateTensor> views(Tensors<float>& tensors) {
  std::vector<UpdateTensor> made;
  for (Tensor<float>& t : tensors)
    made.push_back({t.value.data(), t.gradient.data(), t.first.data(), t.second.data(),
                    t.average.empty() ? nullptr : t.average.data(),
                    static_cast<std::int64_t>(t.value.size()), t.decayed});
  return made;
}

/// One of every kind: longer than a stretch, odd, one element, all zero, with average and without.
Tensors<float> draw_tensors(std::uint64_t seed) {
  Draws draws(seed);
  Tensors<float> made;
  const auto add = [&](std::int64_t count, bool decayed, bool average, double size) {
    Tensor<float> t;
    t.value = draws.normals<float>(count, size);
    t.gradient.resize(t.value.size());
    t.first.resize(t.value.size());
    t.second.resize(t.value.size());
    t.decayed = decayed;
    if (average) t.average = draws.normals<float>(count);
    made.push_back(std::move(t));
  };
  add(33'000, true, true, 0.02);
  add(192, false, true, 1);
  add(1, true, true, 0.5);
  add(1, false, false, 0.5);
  add(77, true, false, 0);  // zero weights: no trust ratio
  add(draws.integer(1, 500), true, true, 0.1);
  add(draws.integer(16'385, 20'000), false, true, 0.1);
  return made;
}

void draw_gradients(Tensors<float>& tensors, Draws& draws, double size) {
  for (Tensor<float>& t : tensors)
    for (float& g : t.gradient)  // in place: the updater holds their address
      g = static_cast<float>(size * draws.normal());
}

OptimizerConfig config_of(OptimizerKind kind) {
  OptimizerConfig config;
  config.kind = kind;
  config.warmup_steps = 2;
  config.total_steps = 9;
  config.average_decay = 0.9;
  return config;
}

void expect_near(const Tensors<float>& got, const Tensors<double>& want,
                 const Tensors<float>& first) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("tensor " + std::to_string(i));
    EXPECT_LE(relative_error(got[i].value, want[i].value), 1e-6);
    EXPECT_LE(relative_error(got[i].first, want[i].first), 1e-6);
    EXPECT_LE(relative_error(got[i].second, want[i].second), 1e-6);
    EXPECT_LE(relative_error(got[i].average, want[i].average), 1e-6);
    EXPECT_LE(relative_error(got[i].gradient, want[i].gradient), 2e-6);
    // The way gone, not the place: a wrong rate would hide behind large weights.
    std::vector<double> way, wanted;
    for (std::size_t k = 0; k < got[i].value.size(); ++k) {
      way.push_back(static_cast<double>(got[i].value[k]) - static_cast<double>(first[i].value[k]));
      wanted.push_back(want[i].value[k] - static_cast<double>(first[i].value[k]));
    }
    EXPECT_LE(relative_error(way, wanted), 1e-4);
  }
}

void expect_follows_reference(const OptimizerConfig& config, double gradient_size) {
  Tensors<float> fast = draw_tensors(3);
  const Tensors<float> first = fast;
  Tensors<double> plain = converted<double>(fast);
  Team team(2);
  Updater updater(views(fast), config, 2);
  Draws draws(4);
  for (std::uint64_t step = 0; step < 4; ++step) {
    draw_gradients(fast, draws, gradient_size);
    for (std::size_t i = 0; i < fast.size(); ++i)
      plain[i].gradient = testing::converted<double>(fast[i].gradient);
    const double found = updater.gradient_norm(team);
    EXPECT_NEAR(found, norm_of_gradients(plain), 1e-12 * found);
    updater.step(team, step, found);
    reference_step(plain, config, step);
  }
  expect_near(fast, plain, first);
}

TEST(Update, LambFollowsTheReference) {
  testing::on_every_target([] {
    expect_follows_reference(config_of(OptimizerKind::lamb), 1e-3);  // below the clip
    expect_follows_reference(config_of(OptimizerKind::lamb), 3);     // clipped
  });
}

TEST(Update, AdamwFollowsTheReference) {
  testing::on_every_target([] {
    expect_follows_reference(config_of(OptimizerKind::adamw), 1e-3);
    expect_follows_reference(config_of(OptimizerKind::adamw), 3);
  });
}

TEST(Update, WithoutClipOrDecay) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
    OptimizerConfig config = config_of(kind);
    config.max_gradient_norm = 0;
    expect_follows_reference(config, 3);
    config.weight_decay = 0;
    expect_follows_reference(config, 3);
  }
}

/// The clip is seen in the moments: with it, they hold gradients of norm 1.
TEST(Update, ClipBoundsTheGradients) {
  Tensors<float> tensors = draw_tensors(5);
  Draws draws(6);
  draw_gradients(tensors, draws, 10);
  Team team(1);
  OptimizerConfig config = config_of(OptimizerKind::lamb);
  Updater updater(views(tensors), config, 1);
  const double found = updater.gradient_norm(team);
  ASSERT_GT(found, 100);
  updater.step(team, 0, found);
  double sum = 0;
  for (const Tensor<float>& t : tensors)
    for (const float m : t.first)
      sum += static_cast<double>(m) * static_cast<double>(m);
  EXPECT_NEAR(std::sqrt(sum), 1 - config.beta1, 1e-6);
}

/// Gradient and weight both zero: u is zero, nothing may become NaN.
TEST(Update, ZeroTensorsStayZero) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
    Tensors<float> tensors(1);
    tensors[0] = {std::vector<float>(50), std::vector<float>(50), std::vector<float>(50),
                  std::vector<float>(50), std::vector<float>(50), true};
    Team team(1);
    Updater updater(views(tensors), config_of(kind), 1);
    const double found = updater.gradient_norm(team);
    EXPECT_EQ(found, 0);
    updater.step(team, 3, found);
    EXPECT_EQ(tensors[0].value, std::vector<float>(50));
    EXPECT_EQ(tensors[0].average, std::vector<float>(50));
  }
}

TEST(Update, SameBitsForAnyTeam) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
    std::vector<Tensors<float>> ends;
    std::vector<double> norms;
    for (int threads = 1; threads <= 4; ++threads) {
      Tensors<float> tensors = draw_tensors(7);
      Team team(threads);
      Updater updater(views(tensors), config_of(kind), threads);
      Draws draws(8);
      for (std::uint64_t step = 0; step < 3; ++step) {
        draw_gradients(tensors, draws, 1);
        norms.push_back(updater.gradient_norm(team));
        updater.step(team, step, norms.back());
      }
      ends.push_back(tensors);
    }
    for (std::size_t i = 1; i < ends.size(); ++i)
      for (std::size_t k = 0; k < ends[0].size(); ++k) {
        EXPECT_EQ(ends[i][k].value, ends[0][k].value);
        EXPECT_EQ(ends[i][k].second, ends[0][k].second);
        EXPECT_EQ(ends[i][k].average, ends[0][k].average);
      }
    for (std::size_t i = 3; i < norms.size(); ++i)
      EXPECT_EQ(norms[i], norms[i % 3]);
  }
}

/// An average of what does not move is what it is, for as long as anybody trains.
TEST(Update, AverageOfAConstantDoesNotDrift) {
  Tensors<float> tensors(1);
  tensors[0] = {std::vector<float>(40, 0.7F), std::vector<float>(40),       std::vector<float>(40),
                std::vector<float>(40),       std::vector<float>(40, 0.7F), false};
  OptimizerConfig config = config_of(OptimizerKind::adamw);
  config.average_decay = 0.99996;
  Team team(1);
  Updater updater(views(tensors), config, 1);
  for (std::uint64_t step = 0; step < 2000; ++step)
    updater.step(team, step, 0);
  EXPECT_EQ(tensors[0].average, std::vector<float>(40, 0.7F));
}

TEST(Update, StepAllocatesNothing) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
    Tensors<float> tensors = draw_tensors(9);
    Draws draws(10);
    draw_gradients(tensors, draws, 1);
    Team team(3);
    Updater updater(views(tensors), config_of(kind), 3);
    const std::size_t before = testing_support::allocations();
    for (std::uint64_t step = 0; step < 3; ++step)
      updater.step(team, step, updater.gradient_norm(team));
    EXPECT_EQ(testing_support::allocations(), before);
  }
}

}  // namespace
}  // namespace sluice::train::cpu::update_test
