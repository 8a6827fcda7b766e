// tests/image/corpus_webp.h - the WebP files of the corpus: the scene encoded, chunks put together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/image/corpus_scene.h"
#include <cstdint>
#include <vector>
#include <webp/encode.h>

namespace sluice::image::corpus {

using Buffer = std::vector<std::uint8_t>;

inline Buffer webp(bool lossless, bool alpha) {
  Buffer pixels;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      for (const std::uint8_t value : rgb(x, y))
        pixels.push_back(value);
      if (alpha) pixels.push_back(byte(255 - 9 * x));
    }
  std::uint8_t* memory = nullptr;
  constexpr int kRgbStride = 3 * kWidth, kRgbaStride = 4 * kWidth;
  const std::size_t size =
      alpha      ? WebPEncodeLosslessRGBA(pixels.data(), kWidth, kHeight, kRgbaStride, &memory)
      : lossless ? WebPEncodeLosslessRGB(pixels.data(), kWidth, kHeight, kRgbStride, &memory)
                 : WebPEncodeRGB(pixels.data(), kWidth, kHeight, kRgbStride, 97, &memory);
  Buffer bytes(memory, memory + size);
  WebPFree(memory);
  return bytes;
}

inline Buffer riff_chunk(const char* name, const Buffer& data) {
  Buffer chunk(name, name + 4);
  for (int shift = 0; shift < 32; shift += 8)
    chunk.push_back(byte(static_cast<int>(data.size() >> shift) & 255));
  chunk.insert(chunk.end(), data.begin(), data.end());
  if (data.size() % 2 != 0) chunk.push_back(0);
  return chunk;
}

/// An extended file: the header with `flags`, then `chunks`.
inline Buffer extended_webp(std::uint8_t flags, const std::vector<Buffer>& chunks) {
  Buffer body = {'W', 'E', 'B', 'P'};
  const Buffer header = riff_chunk("VP8X", {flags, 0, 0, 0, kWidth - 1, 0, 0, kHeight - 1, 0, 0});
  body.insert(body.end(), header.begin(), header.end());
  for (const Buffer& chunk : chunks)
    body.insert(body.end(), chunk.begin(), chunk.end());
  return riff_chunk("RIFF", body);
}

}  // namespace sluice::image::corpus
