// sluice/visit/mixture/run.h - one visit of `sluice bench mixture`: what is measured, in which
// order, and what it leaves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/mixture/plan.h"
#include "sluice/visit/visit.h"

#include <string>

namespace sluice::visit {

struct MixtureResult : Visited {
  std::string text;  // for a terminal
};

/// Errors before anything is written: a root, preset or data set that is not there, options that
/// do not fit. A library that fails costs its rows only.
Result<MixtureResult> run_mixture_bench(const Caller& caller, const MixturePlan& plan);

/// The index of its GPU; -1: it has none.
Result<int> gpu_of_mixture(const scenario::MixtureSpec& spec);

/// Everything about the data that can be refused: data sets opened, features found, weights summed.
/// The episodes, bytes and a hash over the names and sizes of their files.
Result<results::Dataset> look_at_mixture(const scenario::MixtureSpec& spec);

}  // namespace sluice::visit
