// sluice/train/model/rope_tables.cpp - the cosines and sines of a model's rotary position
// embedding.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/rope_tables.h"

#include <cmath>

namespace sluice::train {
namespace {

constexpr double kBase = 10'000, kRegisterBase = 100;

struct Tables {
  float* cosine;
  float* sine;
  int head_dim;
  void put(int token, int channel, double angle) const {
    const std::int64_t at = static_cast<std::int64_t>(token) * head_dim + channel;
    cosine[at] = static_cast<float>(std::cos(angle));
    sine[at] = static_cast<float>(std::sin(angle));
  }
};

/// side * side tokens from `first` on, row by row.
void put_grid(const Tables& tables, int first, int side, double base) {
  const int axis = tables.head_dim / 2;
  for (int row = 0; row < side; ++row)
    for (int column = 0; column < side; ++column)
      for (int i = 0; i < axis; ++i) {
        const double frequency = std::pow(base, -2.0 * (i / 2) / axis);
        const int token = first + row * side + column;
        tables.put(token, i, row * frequency);
        tables.put(token, axis + i, column * frequency);
      }
}

}  // namespace

void rope_tables(float* cosine, float* sine, const ModelSpec& model) {
  const Tables tables{cosine, sine, model.head_dim()};
  if (model.family == Family::gpt) {
    const int half = model.head_dim() / 2;
    for (int token = 0; token < model.tokens(); ++token)
      for (int i = 0; i < half; ++i) {
        const double angle = token * std::pow(kBase, -2.0 * i / model.head_dim());
        tables.put(token, i, angle);
        tables.put(token, half + i, angle);
      }
    return;
  }
  put_grid(tables, 0, model.grid(), kBase);
  for (int i = 0; i < model.head_dim(); ++i)
    tables.put(model.patches(), i, 0);
  const int side = static_cast<int>(std::lround(std::sqrt(model.registers)));
  put_grid(tables, model.patches() + 1, side, kRegisterBase);
}

std::int64_t rope_span(const ModelSpec& model) {
  return model.family == Family::vit5 ? model.head_dim() / 2 : model.head_dim();
}

}  // namespace sluice::train
