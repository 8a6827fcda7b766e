// sluice/train/model/op_cost.h - the least that an operation must move and compute, from its
// shapes: what its time is held against.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/program/program.h"

#include <map>
#include <string>

namespace sluice::train {

/// bytes: every tensor read once and written once, what is added to both. flop: of the matrix
/// products alone (2 per term; a causal score counts where the mask leaves it), 0 for all else.
struct OpCost {
  double bytes = 0;
  double flop = 0;
};
OpCost cost_of(const Op& op, const Program& program);

/// FLOP of all matrix products that one micro-step runs, as its lists have them: what is computed
/// again counts again, what is left out does not. Attention's backward is five products, since it
/// computes the scores again; the gradient of the images counts only where it is asked for.
double executed_flop(const Program& program);

/// Of every op by name, and of what follows them: "update", where there is optimizer state, and
/// "copy weights", where products read copies.
std::map<std::string, OpCost> costs_of(const Program& program);

}  // namespace sluice::train
