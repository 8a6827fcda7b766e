/* sluice/measure/canary_v1.cpp - see canary_v1.h: frozen, never edited.
   SPDX-License-Identifier: Apache-2.0 */
#include "sluice/measure/canary_v1.h"

#include <cstdlib>

namespace sluice_canary_v1 {
namespace {

/* -- part 0: integer 8x8 inverse DCT over coefficient blocks, then a 2x2 box resize
 * ------------------------------ */

const int kBlocksX = 32;
const int kBlocksY = 24;
const int kWidth = kBlocksX * 8;
const int kHeight = kBlocksY * 8;

std::int16_t coefficients[kBlocksX * kBlocksY * 64];
std::uint8_t pixels[kWidth * kHeight];
std::uint8_t halved[(kWidth / 2) * (kHeight / 2)];

/* round(cos((2x+1) u pi / 16) * sqrt(1 / (u ? 4 : 8)) * 4096), row u, column x. */
const std::int32_t kBasis[8][8] = {{1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448},
                                   {2009, 1703, 1138, 400, -400, -1138, -1703, -2009},
                                   {1892, 784, -784, -1892, -1892, -784, 784, 1892},
                                   {1703, -400, -2009, -1138, 1138, 2009, 400, -1703},
                                   {1448, -1448, -1448, 1448, 1448, -1448, -1448, 1448},
                                   {1138, -2009, 400, 1703, -1703, -400, 2009, -1138},
                                   {784, -1892, 1892, -784, -784, 1892, -1892, 784},
                                   {400, -1138, 1703, -2009, 2009, -1703, 1138, -400}};

std::uint32_t next_random(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

void fill_coefficients() {
  std::uint32_t state = 12345;
  for (int block = 0; block < kBlocksX * kBlocksY; ++block) {
    for (int i = 0; i < 64; ++i) {
      const int energy = 512 >> ((i / 8 + i % 8) / 2 + (i != 0));
      const int value =
          energy > 0 ? (int)(next_random(state) % (std::uint32_t)(2 * energy + 1)) - energy : 0;
      coefficients[block * 64 + i] = (std::int16_t)value;
    }
  }
}

void inverse_dct(const std::int16_t* block, std::uint8_t* out, int pitch) {
  std::int32_t rows[64];
  for (int v = 0; v < 8; ++v) {
    for (int x = 0; x < 8; ++x) {
      std::int32_t sum = 0;
      for (int u = 0; u < 8; ++u)
        sum += kBasis[u][x] * block[v * 8 + u];
      rows[v * 8 + x] = (sum + 128) >> 8;
    }
  }
  for (int x = 0; x < 8; ++x) {
    for (int y = 0; y < 8; ++y) {
      std::int32_t sum = 0;
      for (int v = 0; v < 8; ++v)
        sum += kBasis[v][y] * rows[v * 8 + x];
      const std::int32_t value = ((sum + 32768) >> 16) + 128;
      out[y * pitch + x] = (std::uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
  }
}

std::uint64_t digest_bytes(const std::uint8_t* bytes, int n) {
  std::uint64_t hash = 14695981039346656037ull;
  for (int i = 0; i < n; ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

std::uint64_t run_idct_resize() {
  for (int by = 0; by < kBlocksY; ++by) {
    for (int bx = 0; bx < kBlocksX; ++bx) {
      inverse_dct(coefficients + (by * kBlocksX + bx) * 64, pixels + by * 8 * kWidth + bx * 8,
                  kWidth);
    }
  }
  for (int y = 0; y < kHeight / 2; ++y) {
    for (int x = 0; x < kWidth / 2; ++x) {
      const std::uint8_t* p = pixels + 2 * y * kWidth + 2 * x;
      halved[y * (kWidth / 2) + x] =
          (std::uint8_t)((p[0] + p[1] + p[kWidth] + p[kWidth + 1] + 2) >> 2);
    }
  }
  return digest_bytes(halved, (kWidth / 2) * (kHeight / 2));
}

/* -- part 1: single-precision matrix product of small integers, so that every sum is exact
 * ----------------------- */

const int kN = 96;
float left[kN * kN];
float right[kN * kN];
float product[kN * kN];

void fill_matrices() {
  std::uint32_t state = 777;
  for (int i = 0; i < kN * kN; ++i) {
    left[i] = (float)((int)(next_random(state) % 15u) - 7);
    right[i] = (float)((int)(next_random(state) % 15u) - 7);
  }
}

std::uint64_t run_gemm() {
  for (int i = 0; i < kN; ++i) {
    float* out = product + i * kN;
    for (int j = 0; j < kN; ++j)
      out[j] = 0;
    for (int k = 0; k < kN; ++k) {
      const float a = left[i * kN + k];
      const float* b = right + k * kN;
      for (int j = 0; j < kN; ++j)
        out[j] += a * b[j];
    }
  }
  std::uint64_t hash = 14695981039346656037ull;
  for (int i = 0; i < kN * kN; ++i)
    hash = (hash ^ (std::uint64_t)(std::int64_t)product[i]) * 1099511628211ull;
  return hash;
}

/* -- part 2: one read of 64 MiB, more than most caches hold
 * ------------------------------------------------------ */

const long kWords = 8l * 1024 * 1024;
std::uint64_t* words = nullptr;

std::uint64_t run_memory_read() {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;
  for (long i = 0; i < kWords; i += 4) {
    a += words[i];
    b ^= words[i + 1];
    c += words[i + 2];
    d ^= words[i + 3];
  }
  return a + b + c + d;
}

}  // namespace

const char* part_name(int part) {
  return part == 0 ? "idct_resize" : part == 1 ? "gemm" : "memory_read";
}

std::uint64_t expected_digest(int part) {
  return part == 0   ? 0x66c635bc69cdc592ull
         : part == 1 ? 0xa5bbfe29440afe90ull
                     : 0xa2e1330387e1f313ull;
}

bool prepare(int part) {
  if (part == 0) fill_coefficients();
  if (part == 1) fill_matrices();
  if (part == 2 && words == nullptr) {
    words = (std::uint64_t*)std::malloc((std::size_t)kWords * sizeof(std::uint64_t));
    if (words == nullptr) return false;
    std::uint64_t value = 88172645463325252ull;
    for (long i = 0; i < kWords; ++i) {
      value ^= value << 13;
      value ^= value >> 7;
      value ^= value << 17;
      words[i] = value;
    }
  }
  return true;
}

std::uint64_t run(int part) {
  return part == 0 ? run_idct_resize() : part == 1 ? run_gemm() : run_memory_read();
}

}  // namespace sluice_canary_v1
