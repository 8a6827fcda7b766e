// sluice/train/cpu/tokens.cpp - from images or ids to the first residual, from the last one to the
// readout: copies and sums that the compiler turns into vectors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/tokens.h"

#include <algorithm>
#include <type_traits>

namespace sluice::train::cpu {

namespace {

template <class To, class From>
void copy(To* to, const From* from, std::int64_t count) {
  if constexpr (std::is_same_v<To, From>)
    std::copy_n(from, count, to);
  else
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = stored<To>(train::to_float(from[i]));
}

/// visit(at, pixel, stride, count) for every piece of a row of a patch that is one run in the
/// patches; in the images its values are `stride` apart. Image rows in order.
template <class Visit>
void each_run(const TokenShape& s, Rows samples, const Visit& visit) {
  const std::int64_t columns = 3 * s.patch * s.patch;
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t y = 0; y < s.grid() * s.patch; ++y) {
        const std::int64_t first = b * s.patches() + y / s.patch * s.grid();
        const std::int64_t column = c * s.patch * s.patch + y % s.patch * s.patch;
        const std::int64_t row = s.channels_last ? (b * s.image + y) * s.image * 3 + c
                                                 : ((b * 3 + c) * s.image + y) * s.image;
        for (std::int64_t g = 0; g < s.grid(); ++g)
          visit((first + g) * columns + column, row + g * s.patch * (s.channels_last ? 3 : 1));
      }
}

}  // namespace

template <class Act>
void patchify(Act* patches, const float* images, const TokenShape& s, Rows samples) {
  if (!s.channels_last) {
    each_run(s, samples, [&](std::int64_t at, std::int64_t pixel) {
      copy(patches + at, images + pixel, s.patch);
    });
    return;
  }
  each_run(s, samples, [&](std::int64_t at, std::int64_t pixel) {
    for (std::int64_t i = 0; i < s.patch; ++i)
      patches[at + i] = stored<Act>(images[pixel + 3 * i]);
  });
}

template <class Act>
void unpatchify(float* d_images, const Act* d_patches, const TokenShape& s, Rows samples) {
  if (!s.channels_last) {
    each_run(s, samples, [&](std::int64_t at, std::int64_t pixel) {
      copy(d_images + pixel, d_patches + at, s.patch);
    });
    return;
  }
  each_run(s, samples, [&](std::int64_t at, std::int64_t pixel) {
    for (std::int64_t i = 0; i < s.patch; ++i)
      d_images[pixel + 3 * i] = train::to_float(d_patches[at + i]);
  });
}

template <class Act, class Res>
void assemble_tokens(Res* tokens, const Act* embedded, const float* position,
                     const float* class_token, const float* registers, const TokenShape& s,
                     Rows samples) {
  const std::int64_t count = s.patches() * s.dim;
  for (std::int64_t b = samples.begin; b < samples.end; ++b) {
    Res* to = tokens + b * s.tokens * s.dim;
    const Act* from = embedded + b * count;
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = stored<Res>(train::to_float(from[i]) + position[i]);
    copy(to + count, class_token, s.dim);
    if (s.registers > 0) copy(to + count + s.dim, registers, s.registers * s.dim);
  }
}

template <class Act, class Res>
void assemble_tokens_backward(Act* d_embedded, const Res* d_tokens, const TokenShape& s,
                              Rows samples) {
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    copy(d_embedded + b * s.patches() * s.dim, d_tokens + b * s.tokens * s.dim,
         s.patches() * s.dim);
}

template <class Res>
void assemble_tokens_backward_parameters(float* d_position, float* d_class_token,
                                         float* d_registers, const Res* d_tokens,
                                         const TokenShape& s, Rows columns) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      float* to = nullptr;
      if (t < s.patches())
        to = d_position + t * s.dim;
      else if (t == s.patches())
        to = d_class_token;
      else if (d_registers != nullptr)
        to = d_registers + (t - s.patches() - 1) * s.dim;
      if (to == nullptr) continue;
      const Res* from = d_tokens + (b * s.tokens + t) * s.dim;
      for (std::int64_t i = columns.begin; i < columns.end; ++i)
        to[i] += train::to_float(from[i]);
    }
}

template <class Res>
void read_out(Res* y, const Res* tokens, const TokenShape& s, Rows samples) {
  constexpr std::int64_t kBlock = 64;  // sums kept at a time
  for (std::int64_t b = samples.begin; b < samples.end; ++b) {
    const Res* from = tokens + b * s.tokens * s.dim;
    if (!s.mean) {
      copy(y + b * s.dim, from + s.patches() * s.dim, s.dim);
      continue;
    }
    for (std::int64_t first = 0; first < s.dim; first += kBlock) {
      const std::int64_t count = std::min(kBlock, s.dim - first);
      float sums[kBlock] = {};
      for (std::int64_t t = 0; t < s.patches(); ++t)
        for (std::int64_t i = 0; i < count; ++i)
          sums[i] += train::to_float(from[t * s.dim + first + i]);
      for (std::int64_t i = 0; i < count; ++i)
        y[b * s.dim + first + i] = stored<Res>(sums[i] / static_cast<float>(s.patches()));
    }
  }
}

template <class Res>
void read_out_backward(Res* d_tokens, const Res* dy, const TokenShape& s, Rows samples) {
  const float share = 1.0F / static_cast<float>(s.patches());
  for (std::int64_t b = samples.begin; b < samples.end; ++b) {
    Res* to = d_tokens + b * s.tokens * s.dim;
    const Res* from = dy + b * s.dim;
    std::fill_n(to, s.tokens * s.dim, stored<Res>(0));
    if (!s.mean) {
      copy(to + s.patches() * s.dim, from, s.dim);
      continue;
    }
    for (std::int64_t i = 0; i < s.dim; ++i)
      to[i] = stored<Res>(train::to_float(from[i]) * share);
    for (std::int64_t t = 1; t < s.patches(); ++t)
      copy(to + t * s.dim, to, s.dim);
  }
}

template <class Res>
void embed(Res* tokens, const std::int32_t* ids, const float* table, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    copy(tokens + r * dim, table + ids[r] * dim, dim);
}

template <class Res>
void embed_backward(float* d_table, const std::int32_t* ids, const Res* d_tokens,
                    std::int64_t count, std::int64_t dim, Rows columns) {
  for (std::int64_t r = 0; r < count; ++r) {
    float* to = d_table + ids[r] * dim;
    const Res* from = d_tokens + r * dim;
    for (std::int64_t i = columns.begin; i < columns.end; ++i)
      to[i] += train::to_float(from[i]);
  }
}

#define SLUICE_TOKENS_ACT(Act)                                         \
  template void patchify(Act*, const float*, const TokenShape&, Rows); \
  template void unpatchify(float*, const Act*, const TokenShape&, Rows)
#define SLUICE_TOKENS_RES(Res)                                                          \
  template void assemble_tokens_backward_parameters(float*, float*, float*, const Res*, \
                                                    const TokenShape&, Rows);           \
  template void read_out(Res*, const Res*, const TokenShape&, Rows);                    \
  template void read_out_backward(Res*, const Res*, const TokenShape&, Rows);           \
  template void embed(Res*, const std::int32_t*, const float*, Rows, std::int64_t);     \
  template void embed_backward(float*, const std::int32_t*, const Res*, std::int64_t,   \
                               std::int64_t, Rows)
#define SLUICE_TOKENS_BOTH(Act, Res)                                                        \
  template void assemble_tokens(Res*, const Act*, const float*, const float*, const float*, \
                                const TokenShape&, Rows);                                   \
  template void assemble_tokens_backward(Act*, const Res*, const TokenShape&, Rows)
SLUICE_TOKENS_ACT(float);
SLUICE_TOKENS_ACT(Bf16);
SLUICE_TOKENS_RES(float);
SLUICE_TOKENS_RES(Bf16);
SLUICE_TOKENS_BOTH(float, float);
SLUICE_TOKENS_BOTH(Bf16, float);
SLUICE_TOKENS_BOTH(Bf16, Bf16);
#undef SLUICE_TOKENS_ACT
#undef SLUICE_TOKENS_RES
#undef SLUICE_TOKENS_BOTH

}  // namespace sluice::train::cpu
