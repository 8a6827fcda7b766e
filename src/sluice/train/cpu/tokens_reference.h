// sluice/train/cpu/tokens_reference.h - what tokens.h computes, in plain loops; T is float or
// double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/tokens.h"

#include <cstdint>

namespace sluice::train::cpu::reference {

/// Where a value of the patches stands in the images: column is channel, y, x.
inline std::int64_t pixel_of(const TokenShape& s, std::int64_t sample, std::int64_t patch,
                             std::int64_t column) {
  const std::int64_t channel = column / (s.patch * s.patch);
  const std::int64_t y = patch / s.grid() * s.patch + column / s.patch % s.patch;
  const std::int64_t x = patch % s.grid() * s.patch + column % s.patch;
  return s.channels_last ? ((sample * s.image + y) * s.image + x) * 3 + channel
                         : ((sample * 3 + channel) * s.image + y) * s.image + x;
}

template <class T>
void patchify(T* patches, const T* images, const TokenShape& s, Rows samples) {
  const std::int64_t columns = 3 * s.patch * s.patch;
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t p = 0; p < s.patches(); ++p)
      for (std::int64_t c = 0; c < columns; ++c)
        patches[(b * s.patches() + p) * columns + c] = images[pixel_of(s, b, p, c)];
}

template <class T>
void unpatchify(T* d_images, const T* d_patches, const TokenShape& s, Rows samples) {
  const std::int64_t columns = 3 * s.patch * s.patch;
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t p = 0; p < s.patches(); ++p)
      for (std::int64_t c = 0; c < columns; ++c)
        d_images[pixel_of(s, b, p, c)] = d_patches[(b * s.patches() + p) * columns + c];
}

template <class T>
void assemble_tokens(T* tokens, const T* embedded, const T* position, const T* class_token,
                     const T* registers, const TokenShape& s, Rows samples) {
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t i = 0; i < s.dim; ++i) {
        T& token = tokens[(b * s.tokens + t) * s.dim + i];
        if (t < s.patches())
          token = embedded[(b * s.patches() + t) * s.dim + i] + position[t * s.dim + i];
        else if (t == s.patches())
          token = class_token[i];
        else
          token = registers[(t - s.patches() - 1) * s.dim + i];
      }
}

template <class T>
void assemble_tokens_backward(T* d_embedded, const T* d_tokens, const TokenShape& s, Rows samples) {
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.patches(); ++t)
      for (std::int64_t i = 0; i < s.dim; ++i)
        d_embedded[(b * s.patches() + t) * s.dim + i] = d_tokens[(b * s.tokens + t) * s.dim + i];
}

template <class T>
void assemble_tokens_backward_parameters(T* d_position, T* d_class_token, T* d_registers,
                                         const T* d_tokens, const TokenShape& s, Rows columns) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t i = columns.begin; i < columns.end; ++i) {
        const T d_token = d_tokens[(b * s.tokens + t) * s.dim + i];
        if (t < s.patches())
          d_position[t * s.dim + i] += d_token;
        else if (t == s.patches())
          d_class_token[i] += d_token;
        else if (d_registers != nullptr)
          d_registers[(t - s.patches() - 1) * s.dim + i] += d_token;
      }
}

template <class T>
void read_out(T* y, const T* tokens, const TokenShape& s, Rows samples) {
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t i = 0; i < s.dim; ++i) {
      T sum = 0;
      for (std::int64_t t = 0; t < s.patches(); ++t)
        sum += tokens[(b * s.tokens + t) * s.dim + i];
      y[b * s.dim + i] = s.mean ? sum / static_cast<T>(s.patches())
                                : tokens[(b * s.tokens + s.patches()) * s.dim + i];
    }
}

template <class T>
void read_out_backward(T* d_tokens, const T* dy, const TokenShape& s, Rows samples) {
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t i = 0; i < s.dim; ++i) {
        const bool read = s.mean ? t < s.patches() : t == s.patches();
        const T share = s.mean ? 1 / static_cast<T>(s.patches()) : T(1);
        d_tokens[(b * s.tokens + t) * s.dim + i] = read ? dy[b * s.dim + i] * share : T(0);
      }
}

template <class T>
void embed(T* tokens, const std::int32_t* ids, const T* table, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    for (std::int64_t i = 0; i < dim; ++i)
      tokens[r * dim + i] = table[ids[r] * dim + i];
}

template <class T>
void embed_backward(T* d_table, const std::int32_t* ids, const T* d_tokens, std::int64_t count,
                    std::int64_t dim, Rows columns) {
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t i = columns.begin; i < columns.end; ++i)
      d_table[ids[r] * dim + i] += d_tokens[r * dim + i];
}

}  // namespace sluice::train::cpu::reference
