// sluice/train/cpu/tokens.h - from images or ids to the first residual, from the last one to the
// readout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"
#include "sluice/train/model/shapes.h"

#include <cstdint>

namespace sluice::train::cpu {

/// Samples [begin, end): patches [batch * patches, 3 * patch * patch], columns channel, y, x.
template <class Act>
void patchify(Act* patches, const float* images, const TokenShape& shape, Rows samples);
template <class Act>
void unpatchify(float* d_images, const Act* d_patches, const TokenShape& shape, Rows samples);

/// tokens [batch, tokens, dim] = patches + position, then the class token, then the registers.
template <class Act, class Res>
void assemble_tokens(Res* tokens, const Act* embedded, const float* position,
                     const float* class_token, const float* registers, const TokenShape& shape,
                     Rows samples);
/// d_embedded of these samples.
template <class Act, class Res>
void assemble_tokens_backward(Act* d_embedded, const Res* d_tokens, const TokenShape& shape,
                              Rows samples);
/// Sums over the batch, of columns [begin, end) of dim; all three += . d_registers may be null.
template <class Res>
void assemble_tokens_backward_parameters(float* d_position, float* d_class_token,
                                         float* d_registers, const Res* d_tokens,
                                         const TokenShape& shape, Rows columns);

/// y [batch, dim] of these samples. Positions of the patches 0 ..., the class token after them.
template <class Res>
void read_out(Res* y, const Res* tokens, const TokenShape& shape, Rows samples);
/// d_tokens of these samples, written whole.
template <class Res>
void read_out_backward(Res* d_tokens, const Res* dy, const TokenShape& shape, Rows samples);

/// tokens [rows, dim] = table[ids].
template <class Res>
void embed(Res* tokens, const std::int32_t* ids, const float* table, Rows rows, std::int64_t dim);
/// d_table[ids[r]] += d_tokens[r] for all `count` rows, columns [begin, end) of dim: one owner per
/// column, rows in order, so the sum does not depend on the threads.
template <class Res>
void embed_backward(float* d_table, const std::int32_t* ids, const Res* d_tokens,
                    std::int64_t count, std::int64_t dim, Rows columns);

}  // namespace sluice::train::cpu
