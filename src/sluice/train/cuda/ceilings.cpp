// sluice/train/cuda/ceilings.cpp - one large copy, one large product.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/ceilings.h"

#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/session.h"
#include "sluice/train/phase.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace sluice::train::cuda {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kCopyBytes = 512 * kMiB;  // ten times the largest L2: nothing stays there
constexpr std::int64_t kSide = 8192;
constexpr int kTimes = 10;
constexpr std::int64_t kWarmUpNs = 100'000'000;  // clocks rise under load

/// Nanoseconds of the fastest of a few runs; the first ones, which find algorithms and raise the
/// clocks, are not counted.
Result<double> fastest(Session& session, const std::function<Status()>& work) {
  const std::int64_t begin = now_ns();
  do {
    SLUICE_CHECK(work());
    SLUICE_CHECK(session.synchronize());
  } while (now_ns() - begin < kWarmUpNs);
  for (int i = 0; i < kTimes; ++i) {
    SLUICE_CHECK(session.record(2 * i));
    SLUICE_CHECK(work());
    SLUICE_CHECK(session.record(2 * i + 1));
  }
  SLUICE_CHECK(session.synchronize());
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTimes; ++i) {
    SLUICE_TRY(const double ns, session.elapsed(2 * i, 2 * i + 1));
    best = std::min(best, ns);
  }
  return best;
}

}  // namespace

Result<Ceilings> measure_ceilings(int index) {
  SLUICE_TRY(Session session, Session::open(index, 2 * kCopyBytes));
  std::byte* const first = session.memory();
  std::byte* const second = first + kCopyBytes;
  Ceilings ceilings;
  ceilings.copy_bytes = static_cast<double>(kCopyBytes);
  SLUICE_TRY(const double copy_ns,
             fastest(session, [&] { return session.copy(second, first, kCopyBytes); }));
  ceilings.copy_gigabytes_per_s = 2 * ceilings.copy_bytes / copy_ns;

  // Three bf16 matrices of 128 MiB. Zeroes would be multiplied at a higher clock than numbers are.
  constexpr std::size_t kMatrix = kSide * kSide * 2;
  std::vector<std::uint16_t> numbers(kMatrix / 2);
  std::uint32_t random = 1;
  for (std::uint16_t& number : numbers) {
    random = random * 1664525U + 1013904223U;                                 // Numerical Recipes
    number = static_cast<std::uint16_t>((random >> 16 & 0x807FU) | 0x3F00U);  // +-0.5 to 1
  }
  SLUICE_CHECK(session.upload(first, std::as_bytes(std::span(numbers))));
  SLUICE_CHECK(session.copy(first + kMatrix, first, kMatrix));
  Product product{kSide,
                  kSide,
                  kSide,
                  false,
                  true,
                  kSide,
                  kSide,
                  kSide,
                  {second, Dtype::bf16},
                  {first, Dtype::bf16},
                  {first + kMatrix, Dtype::bf16},
                  {}};
  SLUICE_TRY(const double product_ns, fastest(session, [&] {
               return session.issue(Call(product), "product of the ceiling");
             }));
  ceilings.product_side = kSide;
  const auto side = static_cast<double>(kSide);
  ceilings.product_teraflops = 2 * side * side * side / product_ns * 1e-3;
  return ceilings;
}

}  // namespace sluice::train::cuda
