// bench/transform_speed.cpp - microseconds per image of chosen transforms, beside memcpy: the quick
// look while a kernel is being written. What is published comes from `sluice bench transforms`.
// SPDX-License-Identifier: Apache-2.0
//
// usage: transform_speed [--f32] [--channels N] [--frames N] [--width N] [--height N] [NAME...]
// all transforms unless named
#include "sluice/aug/registry.h"
#include "sluice/image/image.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/simd.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace sluice;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlots = 8;
constexpr std::size_t kInputBytes = 36'000'000;  // 64 images of 500 x 375
constexpr double kSeconds = 0.4;                 // per row

struct Options {
  int width = 500, height = 375;
  bool f32 = false;
  int channels = 3;
  std::size_t frames = 1;
  std::vector<std::string> names;

  /// As many as fill 36 MB, at least two clips.
  [[nodiscard]] std::size_t inputs() const {
    const auto bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
    const std::size_t least = 2 * frames;
    return std::max(kInputBytes / bytes / frames * frames, least);
  }
};

Result<image::Image> make_photo(std::uint64_t index, const Options& options) {
  image::Image photo;
  SLUICE_CHECK(image::PhotoMaker().make(photo, 1, index,
                                        {.width = options.width, .height = options.height}));
  return photo;
}

template <image::Sample T>
std::vector<image::Image> make_inputs(const Options& options) {
  const int channels = options.channels;
  std::vector<image::Image> inputs;
  for (std::size_t i = 0; i < options.inputs(); ++i) {
    auto photo = make_photo(i, options);
    auto made = image::Image::make(options.width, options.height, channels,
                                   std::same_as<T, float> ? image::DType::f32 : image::DType::u8);
    const auto from = photo.value().view<std::uint8_t>();
    const auto to = made.value().span<T>();
    for (int y = 0; y < options.height; ++y)
      for (int x = 0; x < options.width; ++x)
        for (int c = 0; c < channels; ++c)
          to.at(x, y, c) = static_cast<T>(static_cast<float>(from.at(x, y, c % 3)) /
                                          (std::same_as<T, float> ? 255.0F : 1.0F));
    inputs.push_back(std::move(made.value()));
  }
  return inputs;
}

/// Of this thread, in microseconds: other programs may run beside it.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// The fastest pass over all inputs, in microseconds of processor time per item.
template <class Pass>
double best_us(Pass pass, std::size_t items) {
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const double start = cpu_us();
    pass();
    best = std::min(best, (cpu_us() - start) / static_cast<double>(items));
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds);
  return best;
}

template <image::Sample T, image::Sample To = T>
void time_one(const aug::TransformSpec& spec, const Options& options,
              const std::vector<image::Image>& inputs) {
  const auto transform = spec.make(Json::object());
  aug::Scratch scratch;
  std::vector<std::vector<image::Image>> slots(kSlots);
  for (auto& slot : slots)
    slot.resize(options.frames);
  std::uint64_t pass_number = 0;
  double bytes = 0;
  std::vector<image::ImageView<T>> src(options.frames);
  std::vector<image::ImageSpan<To>> dst(options.frames);
  const std::size_t items = inputs.size() / options.frames;
  const double us = best_us(
      [&] {
        for (std::size_t i = 0; i < items; ++i) {
          Rng rng({.seed = 1, .epoch = pass_number, .index = i});
          const auto input = inputs[i].view<T>();
          const aug::Draw draw = transform.value()->sample(rng, aug::shape_of(input));
          const aug::Shape out = transform.value()->output_shape(aug::shape_of(input), draw);
          for (std::size_t f = 0; f < options.frames; ++f) {
            src[f] = inputs[i * options.frames + f].view<T>();
            auto& image = slots[i % kSlots][f];
            (void)image.resize_for(out.width, out.height, out.channels,
                                   std::same_as<To, float> ? image::DType::f32 : image::DType::u8);
            dst[f] = image.span<To>();
          }
          bytes = static_cast<double>(dst[0].samples() * sizeof(To) * options.frames);
          const Status done = transform.value()->apply(aug::Frames<T, To>{dst, src}, draw, scratch);
          if (!done) {
            fmt::print("{}: {}\n", spec.name, done.error().message);
            std::exit(1);
          }
        }
        ++pass_number;
      },
      items);
  fmt::print("{:24} {:10.1f} us {:8.2f} GB/s out\n", spec.name, us, bytes / us / 1e3);
  std::fflush(stdout);
}

template <image::Sample T>
void run(const Options& options) {
  const std::vector<image::Image> inputs = make_inputs<T>(options);
  std::vector<image::Image> outputs;
  for (std::size_t i = 0; i < kSlots; ++i)
    outputs.push_back(std::move(inputs[i % inputs.size()].clone().value()));
  const double copy = best_us(
      [&] {
        for (std::size_t i = 0; i < inputs.size(); ++i)
          std::memcpy(outputs[i % kSlots].span<T>().data(), inputs[i].view<T>().data(),
                      inputs[i].view<T>().samples() * sizeof(T));
      },
      inputs.size());
  fmt::print("{} {}x{}x{}, {} frames\n{:24} {:10.1f} us\n", image::simd_target(), options.width,
             options.height, options.channels, options.frames, "memcpy (one frame)", copy);
  for (const aug::TransformSpec& spec : aug::registry()) {
    if (!options.names.empty() &&
        std::find(options.names.begin(), options.names.end(), spec.name) == options.names.end())
      continue;
    if (spec.channels == aug::ChannelRule::rgb && options.channels != 3) continue;
    if constexpr (std::same_as<T, std::uint8_t>) {
      if (spec.makes_f32) {
        time_one<std::uint8_t, float>(spec, options, inputs);
        continue;
      }
    }
    time_one<T>(spec, options, inputs);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--f32")
      options.f32 = true;
    else if (word == "--channels" && i + 1 < argc)
      options.channels = std::stoi(argv[++i]);
    else if (word == "--frames" && i + 1 < argc)
      options.frames = static_cast<std::size_t>(std::stoi(argv[++i]));
    else if (word == "--width" && i + 1 < argc)
      options.width = std::stoi(argv[++i]);
    else if (word == "--height" && i + 1 < argc)
      options.height = std::stoi(argv[++i]);
    else
      options.names.push_back(word);
  }
  if (options.f32)
    run<float>(options);
  else
    run<std::uint8_t>(options);
}
