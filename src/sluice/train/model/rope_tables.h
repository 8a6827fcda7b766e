// sluice/train/model/rope_tables.h - the cosines and sines of a model's rotary position embedding.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/model/model_spec.h"

#include <cstdint>

namespace sluice::train {

/// cosine, sine [tokens, head_dim]. ViT-5: rows of the patch grid in the first half of head_dim,
/// columns in the second; adjacent channels share an angle although the map pairs i with i + span /
/// 2, so it is no rotation. The class token has angle 0, registers have a grid of their own. GPT:
/// positions 0, 1, ...; channels i and i + head_dim / 2 share an angle: a rotation.
void rope_tables(float* cosine, float* sine, const ModelSpec& model);

/// Channels within which the map of cpu/rope.h works: head_dim / 2 for ViT-5, head_dim for the GPT.
std::int64_t rope_span(const ModelSpec& model);

}  // namespace sluice::train
