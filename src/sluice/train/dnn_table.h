// sluice/train/dnn_table.h - the C interface between the program and libsluice_dnn.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Plain types only: the module is built apart, perhaps by another compiler. Any change here raises
// kSluiceDnnAbi. The functions run in the calling thread alone, may be called by many threads at
// once, and neither throw nor print; without memory for their scratch they end the program.
extern "C" {

/// C [m, n] = op(A) · op(B) + beta · C, row-major; op(X) = Xᵀ where asked. m, n, k at least 1.
struct SluiceDnnProduct {
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;  // elements from row to row, as stored
  std::int32_t transpose_a, transpose_b;
  std::int32_t add;  // beta: 1 or 0; with 0 C is not read
};

struct SluiceDnnTable {
  std::uint32_t abi;
  const char* library;    // "oneDNN 2.6.3"
  std::int32_t has_bf16;  // the bf16 functions are there, and the CPU has instructions for them
  void (*f32)(const SluiceDnnProduct* product, float* c, const float* a, const float* b);
  /// bf16 in, sums in fp32. `add` is 0 where C is bf16.
  void (*bf16_to_f32)(const SluiceDnnProduct* product, float* c, const std::uint16_t* a,
                      const std::uint16_t* b);
  void (*bf16)(const SluiceDnnProduct* product, std::uint16_t* c, const std::uint16_t* a,
               const std::uint16_t* b);
};

/// The one symbol of the module.
using SluiceDnnTableFunction = const SluiceDnnTable*();

}  // extern "C"

inline constexpr std::uint32_t kSluiceDnnAbi = 1;
inline constexpr const char* kSluiceDnnSymbol = "sluice_dnn_table";
