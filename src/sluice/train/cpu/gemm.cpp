// sluice/train/cpu/gemm.cpp - products divided over a team, each part by libsluice_dnn.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gemm.h"

#include "sluice/core/module.h"
#include "sluice/train/dnn_table.h"

#include <fmt/format.h>

#include <cassert>

namespace sluice::train::cpu {
namespace {

/// Parts of C begin at multiples of this: whole tiles of the libraries' kernels.
constexpr std::int64_t kGrain = 16;

const SluiceDnnTable& table_of(const void* table) {
  return *static_cast<const SluiceDnnTable*>(table);
}

// Bf16 is 16 bits in memory; the table cannot name the type.
const std::uint16_t* bits(const Bf16* values) {
  return reinterpret_cast<const std::uint16_t*>(values);
}
std::uint16_t* bits(Bf16* values) {
  return reinterpret_cast<std::uint16_t*>(values);
}

void call(const SluiceDnnTable& table, const SluiceDnnProduct& product, float* c, const float* a,
          const float* b) {
  table.f32(&product, c, a, b);
}
void call(const SluiceDnnTable& table, const SluiceDnnProduct& product, float* c, const Bf16* a,
          const Bf16* b) {
  table.bf16_to_f32(&product, c, bits(a), bits(b));
}
void call(const SluiceDnnTable& table, const SluiceDnnProduct& product, Bf16* c, const Bf16* a,
          const Bf16* b) {
  table.bf16(&product, bits(c), bits(a), bits(b));
}

template <class C, class AB>
void multiply(const SluiceDnnTable& table, const GemmShape& s, C* c, const AB* a, const AB* b) {
  assert(s.lda >= (s.transpose_a ? s.m : s.k) && s.ldb >= (s.transpose_b ? s.k : s.n));
  assert(s.ldc >= s.n && (s.beta == 0 || s.beta == 1));
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {  // an empty sum
    for (std::int64_t row = 0; s.beta == 0 && row < s.m; ++row)
      for (std::int64_t column = 0; column < s.n; ++column)
        c[row * s.ldc + column] = C{};
    return;
  }
  call(table,
       {s.m, s.n, s.k, s.lda, s.ldb, s.ldc, s.transpose_a ? 1 : 0, s.transpose_b ? 1 : 0,
        s.beta != 0 ? 1 : 0},
       c, a, b);
}

/// Rows of C where they are as many as its columns or more, else columns; k is never divided.
template <class C, class AB>
void divide(const SluiceDnnTable& table, Team& team, const GemmShape& shape, C* c, const AB* a,
            const AB* b) {
  if (team.size() == 1) return multiply(table, shape, c, a, b);
  const bool by_rows = shape.m >= shape.n;
  team.split(by_rows ? shape.m : shape.n, kGrain, [&](Rows part, int) {
    GemmShape own = shape;
    if (by_rows) {
      own.m = part.count();
      multiply(table, own, c + part.begin * shape.ldc,
               a + part.begin * (shape.transpose_a ? 1 : shape.lda), b);
    } else {
      own.n = part.count();
      multiply(table, own, c + part.begin, a, b + part.begin * (shape.transpose_b ? shape.ldb : 1));
    }
  });
}

Result<const SluiceDnnTable*> load_table() {
  Result<void*> symbol = load_module("dnn", kSluiceDnnSymbol);
  if (!symbol)
    return Error{Errc::unsupported,
                 fmt::format("{} (training on the CPU needs oneDNN, package libdnnl-dev, on x86-64 "
                             "or OpenBLAS, package libopenblas-pthread-dev, on aarch64 when Sluice "
                             "is built)",
                             symbol.error().message)};
  const auto* table = reinterpret_cast<SluiceDnnTableFunction*>(symbol.value())();
  if (table == nullptr || table->abi != kSluiceDnnAbi)
    return Error{Errc::unsupported,
                 fmt::format("libsluice_dnn.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kSluiceDnnAbi)};
  return table;
}

}  // namespace

Result<Gemm> Gemm::make() {
  static const Result<const SluiceDnnTable*> loaded = load_table();
  SLUICE_TRY(const SluiceDnnTable* table, loaded);
  Gemm gemm;
  gemm.table_ = table;
  gemm.library_ = table->library;
  gemm.has_bf16_ = table->has_bf16 != 0;
  return gemm;
}

void Gemm::serial(const GemmShape& shape, float* c, const float* a, const float* b) const {
  multiply(table_of(table_), shape, c, a, b);
}
void Gemm::serial(const GemmShape& shape, float* c, const Bf16* a, const Bf16* b) const {
  assert(has_bf16_);
  multiply(table_of(table_), shape, c, a, b);
}
void Gemm::serial(const GemmShape& shape, Bf16* c, const Bf16* a, const Bf16* b) const {
  assert(has_bf16_ && shape.beta == 0);
  multiply(table_of(table_), shape, c, a, b);
}
void Gemm::run(Team& team, const GemmShape& shape, float* c, const float* a, const float* b) const {
  divide(table_of(table_), team, shape, c, a, b);
}
void Gemm::run(Team& team, const GemmShape& shape, float* c, const Bf16* a, const Bf16* b) const {
  assert(has_bf16_);
  divide(table_of(table_), team, shape, c, a, b);
}
void Gemm::run(Team& team, const GemmShape& shape, Bf16* c, const Bf16* a, const Bf16* b) const {
  assert(has_bf16_ && shape.beta == 0);
  divide(table_of(table_), team, shape, c, a, b);
}

}  // namespace sluice::train::cpu
