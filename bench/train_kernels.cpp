// bench/train_kernels.cpp - GB/s of the elementwise training kernels of the CPU, one thread, beside
// memcpy: the quick look while a kernel is being written. Each is checked against its reference
// first.
// SPDX-License-Identifier: Apache-2.0
//
// usage: train_kernels [NAME...]     all kernels whose name contains one of them; all unless named
#include "sluice/core/rng.h"
#include "sluice/image/simd.h"
#include "sluice/train/cpu/cross_entropy.h"
#include "sluice/train/cpu/cross_entropy_reference.h"
#include "sluice/train/cpu/gelu.h"
#include "sluice/train/cpu/gelu_reference.h"
#include "sluice/train/cpu/norm.h"
#include "sluice/train/cpu/norm_reference.h"
#include "sluice/train/cpu/tokens.h"
#include "sluice/train/cpu/tokens_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::train;

constexpr double kSeconds = 0.3;         // per row
constexpr std::int64_t kRows = 8 * 201;  // vit5-tiny, batch 8
constexpr std::int64_t kDim = 192, kWide = 768;

std::vector<std::string> wanted;

/// Arrays start at a cache line, as those of the engine do.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  explicit Aligned(const Aligned<U>& /*other*/) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t /*count*/) { ::operator delete (p, std::align_val_t{64}); }
  friend bool operator==(const Aligned&, const Aligned&) { return true; }
};
template <class T>
using Array = std::vector<T, Aligned<T>>;

template <class T>
Array<T> draw(std::int64_t count, std::uint64_t seed) {
  Rng rng({.seed = seed});
  Array<T> made(static_cast<std::size_t>(count));
  for (T& value : made)
    value = stored<T>(static_cast<float>(rng.normal()));
  return made;
}

template <class T>
Array<float> floats(const Array<T>& values) {
  Array<float> made;
  made.reserve(values.size());
  for (const T& value : values)
    made.push_back(to_float(value));
  return made;
}

/// Within the rounding of what is stored; the whole vector, so one wrong row is seen.
template <class T>
bool close(const Array<T>& got, const Array<float>& want) {
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    off += std::pow(to_float(got[i]) - want[i], 2);
    norm += std::pow(want[i], 2);
  }
  return off <= norm * std::pow(std::is_same_v<T, Bf16> ? 3e-3 : 1e-5, 2);
}

/// Of this thread: a machine with other work to do does not change it.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// The fastest call, in microseconds, and the rate of `bytes` (each array once per read or write).
template <class Call>
void row(const std::string& name, double bytes, bool right, Call call) {
  if (!right) {
    fmt::print("{:28} differs from its reference\n", name);
    std::exit(1);
  }
  double best = 1e300;
  const double begin = cpu_us();
  do {
    const double start = cpu_us();
    call();
    best = std::min(best, cpu_us() - start);
  } while (cpu_us() - begin < kSeconds * 1e6);
  fmt::print("{:28} {:9.1f} us {:7.2f} GB/s\n", name, best, bytes / best / 1e3);
  std::fflush(stdout);
}

bool skipped(const std::string& name) {
  return !wanted.empty() && std::none_of(wanted.begin(), wanted.end(), [&](const auto& word) {
    return name.find(word) != std::string::npos;
  });
}

void copies() {
  for (const std::int64_t dim : {kDim, kWide}) {
    const auto x = draw<float>(kRows * dim, 1);
    auto y = x;
    const auto bytes = static_cast<double>(x.size() * 4);
    row(fmt::format("memcpy {}", dim), 2 * bytes, true,
        [&] { std::memcpy(y.data(), x.data(), x.size() * 4); });
  }
}

template <class Act, class Res>
void norms(const std::string& types) {
  if (skipped("norm") && skipped("branch")) return;
  constexpr std::int64_t kCount = kRows * kDim;
  constexpr double kAct = kCount * sizeof(Act), kRes = kCount * sizeof(Res);
  const cpu::Rows all = {0, kRows};
  const auto x = draw<Res>(kCount, 1), dx0 = draw<Res>(kCount, 2);
  const auto dy = draw<Act>(kCount, 3);
  const auto gamma = draw<float>(kDim, 4), scale = draw<float>(8, 5);
  const auto fx = floats(x), fdy = floats(dy);
  Array<Act> y(x.size());
  Array<Res> z(x.size()), dx = dx0;
  Array<float> rstd(kRows), d_gamma(kDim);
  Array<float> want(x.size()), want_rstd(kRows), want_gamma(kDim), want_dx = floats(dx0);

  cpu::reference::rms_norm_forward(want.data(), want_rstd.data(), fx.data(), gamma.data(), all,
                                   kDim, 1e-6F);
  const auto norm = [&] {
    cpu::rms_norm_forward(y.data(), rstd.data(), x.data(), gamma.data(), all, kDim, 1e-6F);
  };
  norm();
  row("norm forward " + types, kRes + kAct, close(y, want), norm);

  cpu::reference::rms_norm_backward(want_dx.data(), want_gamma.data(), fdy.data(), fx.data(),
                                    want_rstd.data(), gamma.data(), all, kDim);
  const auto norm_back = [&] {
    cpu::rms_norm_backward(dx.data(), d_gamma.data(), dy.data(), x.data(), rstd.data(),
                           gamma.data(), all, kDim);
  };
  norm_back();
  row("norm backward " + types, 3 * kRes + kAct, close(dx, want_dx) && close(d_gamma, want_gamma),
      norm_back);

  cpu::reference::add_branch_forward(want.data(), fx.data(), fdy.data(), gamma.data(), scale.data(),
                                     201, all, kDim);
  const auto add = [&] {
    cpu::add_branch_forward(z.data(), x.data(), dy.data(), gamma.data(), scale.data(), 201, all,
                            kDim);
  };
  add();
  row("branch forward " + types, 2 * kRes + kAct, close(z, want), add);

  std::fill(want_gamma.begin(), want_gamma.end(), 0.0F);
  std::fill(d_gamma.begin(), d_gamma.end(), 0.0F);
  cpu::reference::add_branch_backward(want.data(), want_gamma.data(), fx.data(), fdy.data(),
                                      gamma.data(), scale.data(), 201, all, kDim);
  const auto add_back = [&] {
    cpu::add_branch_backward(y.data(), d_gamma.data(), x.data(), dy.data(), gamma.data(),
                             scale.data(), 201, all, kDim);
  };
  add_back();
  row("branch backward " + types, kRes + 2 * kAct, close(y, want) && close(d_gamma, want_gamma),
      add_back);
}

template <class Act>
void gelus(const std::string& type) {
  if (skipped("gelu")) return;
  constexpr std::int64_t kCount = kRows * kWide;
  constexpr double kBytes = kCount * sizeof(Act);
  const cpu::Rows all = {0, kCount};
  const auto x = draw<Act>(kCount, 1), dy = draw<Act>(kCount, 2);
  const auto fx = floats(x);
  Array<Act> y(x.size());
  Array<float> want(x.size());
  cpu::reference::gelu_forward(want.data(), fx.data(), all);
  const auto forward = [&] { cpu::gelu_forward(y.data(), x.data(), all); };
  forward();
  row("gelu forward " + type, 2 * kBytes, close(y, want), forward);
  cpu::reference::gelu_backward(want.data(), floats(dy).data(), fx.data(), all);
  const auto backward = [&] { cpu::gelu_backward(y.data(), dy.data(), x.data(), all); };
  backward();
  row("gelu backward " + type, 3 * kBytes, close(y, want), backward);
}

void conversions() {
  constexpr std::int64_t kCount = kRows * kWide;
  const cpu::Rows all = {0, kCount};
  const auto x = draw<float>(kCount, 1);
  auto sum = draw<float>(kCount, 2), want = sum;
  Array<Bf16> narrow(x.size());
  Array<float> wide(x.size());
  const auto down = [&] { cpu::to_bf16(narrow.data(), x.data(), all); };
  const auto up = [&] { cpu::to_float(wide.data(), narrow.data(), all); };
  const auto add = [&] { cpu::add_into(sum.data(), x.data(), all); };
  down();
  up();
  add();
  cpu::reference::add_into(want.data(), x.data(), all);
  if (!skipped("to_bf16")) row("to_bf16", 6.0 * kCount, close(narrow, x), down);
  if (!skipped("to_float")) row("to_float", 6.0 * kCount, close(wide, floats(narrow)), up);
  if (!skipped("add_into")) row("add_into", 12.0 * kCount, close(sum, want), add);
}

template <class Act>
void losses(const std::string& type, std::int64_t rows, std::int64_t classes, bool use_soft) {
  const std::string name =
      fmt::format("cross_entropy {}x{} {}{}", rows, classes, type, use_soft ? " soft" : "");
  if (skipped(name)) return;
  const cpu::Rows all = {0, rows};
  const auto x = draw<Act>(rows * classes, 1);
  Array<Act> dx(x.size());
  const Array<std::int32_t> labels(static_cast<std::size_t>(rows), 5);
  const Array<float> soft(use_soft ? x.size() : 0, 1.0F / static_cast<float>(classes));
  Array<float> loss(labels.size()), want_loss(labels.size()), want(x.size());
  const float* target = use_soft ? soft.data() : nullptr;
  cpu::reference::cross_entropy(want_loss.data(), want.data(), floats(x).data(), labels.data(),
                                target, 0.0F, 0.1F, all, classes);
  const auto run = [&] {
    cpu::cross_entropy(loss.data(), dx.data(), x.data(), labels.data(), target, 0.0F, 0.1F, all,
                       classes);
  };
  run();
  row(name, static_cast<double>(x.size() * 2 * sizeof(Act) + soft.size() * 4),
      close(dx, want) && close(loss, want_loss), run);
}

template <class Act>
void patches(const std::string& type) {
  if (skipped("patchify") && skipped("assemble")) return;
  TokenShape s{.batch = 8, .image = 224, .patch = 16, .registers = 4, .dim = kDim, .tokens = 201};
  const cpu::Rows all = {0, 8};
  const auto images = draw<float>(8 * 3 * 224 * 224, 1);
  Array<Act> y(images.size());
  Array<float> want(images.size());
  for (const bool channels_last : {false, true}) {
    s.channels_last = channels_last;
    cpu::reference::patchify(want.data(), images.data(), s, all);
    const auto run = [&] { cpu::patchify(y.data(), images.data(), s, all); };
    run();
    row("patchify " + type + (channels_last ? " hwc" : ""),
        static_cast<double>(images.size() * (4 + sizeof(Act))), close(y, want), run);
  }
  const auto embedded = draw<Act>(8 * 196 * kDim, 2);
  const auto position = draw<float>(196 * kDim, 3), extra = draw<float>(4 * kDim, 4);
  Array<float> tokens(kRows * kDim), want_tokens = tokens;
  cpu::reference::assemble_tokens(want_tokens.data(), floats(embedded).data(), position.data(),
                                  extra.data(), extra.data(), s, all);
  const auto assemble = [&] {
    cpu::assemble_tokens(tokens.data(), embedded.data(), position.data(), extra.data(),
                         extra.data(), s, all);
  };
  assemble();
  row("assemble_tokens " + type,
      static_cast<double>(embedded.size() * sizeof(Act) + tokens.size() * 4),
      close(tokens, want_tokens), assemble);
}

}  // namespace

int main(int argc, char** argv) {
  wanted.assign(argv + 1, argv + argc);
  fmt::print("{}, one thread, {} rows\n", image::simd_target(), kRows);
  copies();
  norms<float, float>("f32 f32");
  norms<Bf16, float>("bf16 f32");
  norms<Bf16, Bf16>("bf16 bf16");
  gelus<float>("f32");
  gelus<Bf16>("bf16");
  conversions();
  for (const bool soft : {false, true}) {
    losses<float>("f32", 8, 1000, soft);
    losses<Bf16>("bf16", 8, 1000, soft);
  }
  losses<float>("f32", 1024, 4096, false);
  losses<Bf16>("bf16", 1024, 4096, false);
  patches<float>("f32");
  patches<Bf16>("bf16");
}
