// sluice/train/model/shapes.cpp - the sizes of a program's kernels, from its model.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/shapes.h"

#include "sluice/train/model/rope_tables.h"
#include "sluice/train/program/program.h"

#include <cmath>

namespace sluice::train {

Heads heads_of(const Program& program) {
  const ModelSpec& model = program.model;
  Heads heads;
  heads.batch = program.options.batch;
  heads.tokens = model.tokens();
  heads.heads = model.heads;
  heads.head_dim = model.head_dim();
  heads.rope_span = rope_span(model);
  heads.epsilon = model.norm_epsilon;
  heads.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(model.head_dim())));
  heads.causal = model.family == Family::gpt;
  return heads;
}

TokenShape tokens_of(const Program& program) {
  const ModelSpec& model = program.model;
  TokenShape shape;
  shape.batch = program.options.batch;
  shape.image = model.image;
  shape.patch = model.patch;
  shape.registers = model.registers;
  shape.dim = model.dim;
  shape.tokens = model.tokens();
  shape.mean = model.readout == Readout::gap;
  return shape;
}

}  // namespace sluice::train
