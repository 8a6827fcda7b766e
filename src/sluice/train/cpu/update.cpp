// sluice/train/cpu/update.cpp - LAMB and AdamW over all tensors in stretches of fixed length.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/update.h"

#include "sluice/train/cpu/update_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::train::cpu {
namespace {

/// Elements of a stretch: its five arrays fit into the second cache. Sums are made per stretch and
/// added in order, so no team size is seen in them.
constexpr std::int64_t kStretch = 16384;

UpdateRates rates_of(const OptimizerConfig& config, std::uint64_t step, double gradient_norm) {
  const auto narrow = [](double value) { return static_cast<float>(value); };
  const auto t = static_cast<double>(step) + 1;
  const double clip =
      config.max_gradient_norm > 0 ? std::max(gradient_norm / config.max_gradient_norm, 1.0) : 1.0;
  UpdateRates rates;
  rates.clip = narrow(1 / clip);
  rates.beta1 = narrow(config.beta1);
  rates.gain1 = narrow(1 - config.beta1);
  rates.beta2 = narrow(config.beta2);
  rates.gain2 = narrow(1 - config.beta2);
  rates.correction1 = narrow(1 / (1 - std::pow(config.beta1, t)));
  rates.correction2 = narrow(1 / (1 - std::pow(config.beta2, t)));
  rates.epsilon = narrow(config.epsilon);
  rates.rate = narrow(learning_rate_at(config, step));
  return rates;
}

}  // namespace

Updater::Updater(std::vector<UpdateTensor> tensors, OptimizerConfig config, int /*threads*/)
    : tensors_(std::move(tensors)), config_(config), ratios_(tensors_.size()) {
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor)
    for (std::int64_t begin = 0; begin < tensors_[tensor].elements; begin += kStretch) {
      const std::int64_t count = std::min(kStretch, tensors_[tensor].elements - begin);
      stretches_.push_back({tensor, begin, count, elements_});
      elements_ += count;
    }
  partial_.resize(2 * stretches_.size());
}

/// body(index) for each stretch, those of a member in one run, about as many elements for each.
template <class Body>
void Updater::each_stretch(Team& team, const Body& body) {
  team.run([&](int member) {
    const auto first_of = [&](int of) {
      const std::int64_t edge = elements_ / team.size() * of;
      if (of == team.size()) return stretches_.size();
      const auto found =
          std::lower_bound(stretches_.begin(), stretches_.end(), edge,
                           [](const Stretch& s, std::int64_t at) { return s.before < at; });
      return static_cast<std::size_t>(found - stretches_.begin());
    };
    const std::size_t end = first_of(member + 1);
    for (std::size_t i = first_of(member); i < end; ++i)
      body(i);
  });
}

bool Updater::adapts(const UpdateTensor& tensor) const {
  return config_.kind == OptimizerKind::lamb && tensor.decayed && config_.weight_decay != 0;
}

double Updater::gradient_norm(Team& team) {
  each_stretch(team, [&](std::size_t i) {
    const Stretch& s = stretches_[i];
    partial_[i] = sum_of_squares(tensors_[s.tensor].gradient + s.begin, s.count);
  });
  double sum = 0;
  for (std::size_t i = 0; i < stretches_.size(); ++i)
    sum += partial_[i];
  return std::sqrt(sum);
}

void Updater::move(const Stretch& s, float ratio) {
  const UpdateTensor& t = tensors_[s.tensor];
  descend(t.value + s.begin, t.gradient + s.begin, s.count, ratio);
  average(s);
}

void Updater::average(const Stretch& s) {
  const UpdateTensor& t = tensors_[s.tensor];
  if (t.average != nullptr)
    follow(t.average + s.begin, t.value + s.begin, s.count,
           static_cast<float>(1 - config_.average_decay));
}

/// Trust ratios from the sums that the first pass left: ‖p‖², ‖u‖² of each stretch.
void Updater::find_ratios(float rate) {
  for (std::size_t i = 0; i < stretches_.size();) {
    const std::size_t tensor = stretches_[i].tensor;
    double value = 0, update = 0;
    for (; i < stretches_.size() && stretches_[i].tensor == tensor; ++i) {
      value += partial_[2 * i];
      update += partial_[2 * i + 1];
    }
    const double trust = value != 0 && update != 0 ? std::sqrt(value / update) : 1.0;
    ratios_[tensor] = static_cast<float>(static_cast<double>(rate) * trust);
  }
}

void Updater::step(Team& team, std::uint64_t step, double gradient_norm) {
  const UpdateRates base = rates_of(config_, step, gradient_norm);
  each_stretch(team, [&](std::size_t i) {
    const Stretch& s = stretches_[i];
    const UpdateTensor& t = tensors_[s.tensor];
    float *p = t.value + s.begin, *g = t.gradient + s.begin, *m = t.first_moment + s.begin,
          *v = t.second_moment + s.begin;
    UpdateRates rates = base;
    rates.decay = t.decayed ? static_cast<float>(config_.weight_decay) : 0.0F;
    partial_[2 * i] = partial_[2 * i + 1] = 0;
    if (config_.kind == OptimizerKind::adamw) {
      adamw_step(p, g, m, v, s.count, rates);
      average(s);
      return;
    }
    lamb_direction(g, m, v, p, s.count, rates);
    if (!adapts(t)) return move(s, base.rate);
    partial_[2 * i] = sum_of_squares(p, s.count);
    partial_[2 * i + 1] = sum_of_squares(g, s.count);
  });
  if (config_.kind == OptimizerKind::adamw) return;
  find_ratios(base.rate);
  each_stretch(team, [&](std::size_t i) {
    const Stretch& s = stretches_[i];
    if (adapts(tensors_[s.tensor])) move(s, ratios_[s.tensor]);
  });
}

}  // namespace sluice::train::cpu
