// bench/gemm_speed.cpp - GFLOP/s of the matrix products of the models, fp32 and bf16: the quick
// look while the module is being worked on.
// SPDX-License-Identifier: Apache-2.0
//
// usage: gemm_speed [SECONDS] [THREADS]     per row, 0.2 unless given; all cores unless given
#include "sluice/core/rng.h"
#include "sluice/train/cpu/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::train;
using namespace sluice::train::cpu;
using Clock = std::chrono::steady_clock;

struct Case {
  std::string name;
  GemmShape shape;
  bool serial = false;  // attention: each thread a product of its own
};

GemmShape dense(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, float beta = 0) {
  return {m, n, k, ta, tb, ta ? m : k, tb ? k : n, n, beta};
}

std::vector<Case> cases() {
  std::vector<Case> made;
  const auto layer = [&](const char* name, std::int64_t rows, std::int64_t in, std::int64_t out) {
    made.push_back({fmt::format("{} y", name), dense(rows, out, in, false, true)});
    made.push_back({fmt::format("{} dx", name), dense(rows, in, out, false, false)});
    made.push_back({fmt::format("{} dw", name), dense(out, in, rows, true, false, 1)});
  };
  layer("vit5-tiny qkv", 1608, 192, 576);
  layer("vit5-tiny proj", 1608, 192, 192);
  layer("vit5-tiny fc1", 1608, 192, 768);
  layer("vit5-tiny fc2", 1608, 768, 192);
  layer("vit5-small qkv", 1608, 384, 1152);
  layer("vit5-small fc1", 1608, 384, 1536);
  layer("gpt-tiny qkv", 1024, 128, 384);
  layer("gpt-tiny fc1", 1024, 128, 512);
  layer("gpt-tiny head", 1024, 128, 4096);
  made.push_back({"attention q·kᵀ", dense(201, 201, 64, false, true), true});
  made.push_back({"attention p·v", dense(201, 64, 201, false, false), true});
  made.push_back({"attention pᵀ·dy", dense(201, 64, 201, true, false), true});
  return made;
}

template <class T>
std::vector<T> draw(std::int64_t count, Rng& rng) {
  std::vector<T> made(static_cast<std::size_t>(count));
  for (T& value : made)
    value = stored<T>(static_cast<float>(rng.uniform(-1, 1)));
  return made;
}

/// Some elements against sums in double; a wrong product is not worth timing.
template <class C, class AB>
bool is_right(const GemmShape& s, const std::vector<C>& c, const std::vector<AB>& a,
              const std::vector<AB>& b, Rng& rng) {
  for (int i = 0; i < 200; ++i) {
    const auto row = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(s.m)));
    const auto column = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(s.n)));
    double sum = 0;
    for (std::int64_t k = 0; k < s.k; ++k)
      sum += static_cast<double>(to_float(
                 a[static_cast<std::size_t>(s.transpose_a ? k * s.lda + row : row * s.lda + k)])) *
             static_cast<double>(to_float(b[static_cast<std::size_t>(
                 s.transpose_b ? column * s.ldb + k : k * s.ldb + column)]));
    const auto got =
        static_cast<double>(to_float(c[static_cast<std::size_t>(row * s.ldc + column)]));
    const double allowed = 1e-4 + (sizeof(C) == 2 ? std::abs(sum) / 256 : 0);
    if (!(std::abs(got - sum) <= allowed)) return false;
  }
  return true;
}

/// GFLOP/s of the fastest call; 0 when the result is wrong. C begins as zeros: `add` adds to them.
template <class C, class AB>
double rate_of(const Gemm& gemm, Team& team, const Case& c, double seconds) {
  Rng rng({.seed = 5});
  const GemmShape& s = c.shape;
  const std::vector<AB> a = draw<AB>(s.m * s.k, rng), b = draw<AB>(s.k * s.n, rng);
  const auto elements = static_cast<std::size_t>(s.m * s.n);
  const auto products = static_cast<std::size_t>(c.serial ? team.size() : 1);
  std::vector<std::vector<C>> out(products, std::vector<C>(elements));
  const auto call = [&] {
    if (c.serial)
      team.run([&](int member) {
        gemm.serial(s, out[static_cast<std::size_t>(member)].data(), a.data(), b.data());
      });
    else
      gemm(team, s, out[0].data(), a.data(), b.data());
  };
  call();
  for (const std::vector<C>& each : out)
    if (!is_right(s, each, a, b, rng)) return 0;
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  return 2e-9 * static_cast<double>(s.m * s.n * s.k) * static_cast<double>(products) / best;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.2;
  const int threads = argc > 2
                          ? std::max(1, std::atoi(argv[2]))
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto gemm = Gemm::make();
  if (!gemm) {
    fmt::print(stderr, "{}\n", gemm.error().message);
    return 1;
  }
  Team team(threads);
  fmt::print("{}, {} threads, GFLOP/s\n{:18} {:>5} {:>5} {:>5}    {:>7} {:>7} {:>7}\n",
             gemm->library(), threads, "", "m", "n", "k", "fp32", "bf16", "to fp32");
  bool right = true;
  for (const Case& c : cases()) {
    const GemmShape& s = c.shape;
    fmt::print("{:18} {:5} {:5} {:5} {}{}", c.name, s.m, s.n, s.k, s.transpose_a ? 'T' : 'N',
               s.transpose_b ? 'T' : 'N');
    const auto show = [&](double rate) {
      right = right && rate > 0;
      fmt::print(" {:>7}", rate > 0 ? fmt::format("{:.0f}", rate) : "WRONG");
    };
    show(rate_of<float, float>(*gemm, team, c, seconds));
    if (gemm->has_bf16() && s.beta == 0)
      show(rate_of<Bf16, Bf16>(*gemm, team, c, seconds));
    else
      fmt::print(" {:>7}", "-");
    if (gemm->has_bf16()) show(rate_of<float, Bf16>(*gemm, team, c, seconds));
    fmt::print("\n");
  }
  return right ? 0 : 1;
}
