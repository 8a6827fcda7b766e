// sluice/train/cpu/gemm.h - the one matrix product of the CPU backend, from libsluice_dnn.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/bf16.h"
#include "sluice/train/cpu/team.h"

#include <cstdint>
#include <string>

namespace sluice::train::cpu {

/// C [m, n] = op(A) · op(B) + beta · C, row-major, op(X) = Xᵀ where asked. lda, ldb, ldc are the
/// row lengths in memory, of the matrices as stored.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  float beta = 0;  // 0 or 1; with 0 C is not read
};

/// Serial calls may run in many threads at once; calls with a Team divide the work over it (rows or
/// columns of C, whichever is longer, so every element has one owner and results do not depend on
/// timing). bf16 products sum in fp32.
class Gemm {
 public:
  /// Loads the module. Unsupported when neither oneDNN nor OpenBLAS is there: the error names them.
  static Result<Gemm> make();

  [[nodiscard]] const std::string& library() const { return library_; }  // "oneDNN 2.6.3"
  /// Whether the CPU multiplies bf16 itself (AMX, AVX512_BF16, Arm BF16) and the library uses it.
  [[nodiscard]] bool has_bf16() const { return has_bf16_; }

  void serial(const GemmShape& shape, float* c, const float* a, const float* b) const;
  /// Precondition of the bf16 forms: has_bf16().
  void serial(const GemmShape& shape, float* c, const Bf16* a, const Bf16* b) const;
  void serial(const GemmShape& shape, Bf16* c, const Bf16* a, const Bf16* b) const;

  template <class C, class AB>
  void operator()(Team& team, const GemmShape& shape, C* c, const AB* a, const AB* b) const {
    run(team, shape, c, a, b);
  }

 private:
  void run(Team& team, const GemmShape& shape, float* c, const float* a, const float* b) const;
  void run(Team& team, const GemmShape& shape, float* c, const Bf16* a, const Bf16* b) const;
  void run(Team& team, const GemmShape& shape, Bf16* c, const Bf16* a, const Bf16* b) const;
  const void* table_ = nullptr;  // SluiceDnnTable of dnn_table.h
  std::string library_;
  bool has_bf16_ = false;
};

}  // namespace sluice::train::cpu
