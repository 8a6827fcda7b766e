// bench/resize_speed.cpp - microseconds per image of the resizers, plain and antialiased: the quick
// look while a kernel is being written.
// SPDX-License-Identifier: Apache-2.0
//
// usage: resize_speed [SECONDS]     per row, 0.5 unless given
#include "sluice/core/rng.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/simd.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::image;
using Clock = std::chrono::steady_clock;

constexpr int kWidth = 500, kHeight = 375, kSide = 224;
constexpr std::size_t kImages = 16;  // 9 MB: not all in the nearest cache

struct Crop {
  int x, y, width, height;
};

/// RandomResizedCrop's: 8 % to all of the area, 3:4 to 4:3.
std::vector<Crop> draw_crops(std::size_t count) {
  std::vector<Crop> crops;
  Rng rng({.seed = 7});
  while (crops.size() < count) {
    const double area = rng.uniform(0.08, 1) * kWidth * kHeight;
    const double ratio = std::exp(rng.uniform(std::log(0.75), std::log(4.0 / 3)));
    const int w = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const int h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (w > kWidth || h > kHeight) continue;
    crops.push_back({static_cast<int>(rng.uniform(0, kWidth - w + 1)),
                     static_cast<int>(rng.uniform(0, kHeight - h + 1)), w, h});
  }
  return crops;
}

/// The fastest pass over all crops, in microseconds of CPU time per crop.
template <class Resizer>
double time_of(const std::vector<Image>& images, const std::vector<Crop>& crops, double seconds) {
  Resizer resizer;
  Image out;
  if (!out.resize_for(kSide, kSide, 3)) std::exit(1);
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const std::clock_t start = std::clock();
    for (std::size_t i = 0; i < crops.size(); ++i) {
      const Crop& c = crops[i];
      const auto view = images[i % images.size()].view<std::uint8_t>();
      if (!resizer.run(out.span<std::uint8_t>(), view.crop(c.x, c.y, c.width, c.height)))
        std::exit(1);
    }
    best = std::min(best, 1e6 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds);
  return best / static_cast<double>(crops.size());
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  std::vector<Image> images(kImages);
  Rng rng({.seed = 3});
  for (Image& image : images) {
    if (!image.resize_for(kWidth, kHeight, 3)) return 1;
    const std::size_t samples = image.view<std::uint8_t>().samples();
    for (std::size_t i = 0; i < samples; ++i)
      image.span<std::uint8_t>().data()[i] = static_cast<std::uint8_t>(rng.next_u32() & 255);
  }
  fmt::print("{}, to {} x {} x 3, us per image\n", simd_target(), kSide, kSide);
  const auto show = [&](const std::string& name, const std::vector<Crop>& crops) {
    fmt::print("{:18} plain {:6.1f}  antialias {:6.1f}\n", name,
               time_of<BilinearResizer>(images, crops, seconds),
               time_of<AntialiasResizer>(images, crops, seconds));
  };
  show("RandomResizedCrop", draw_crops(256));
  for (const Crop& c :
       {Crop{9, 9, 110, 120}, Crop{9, 9, 240, 240}, Crop{9, 9, 300, 300}, Crop{9, 9, 340, 340},
        Crop{0, 0, 380, 340}, Crop{0, 0, 448, 375}, Crop{0, 0, 460, 375}, Crop{0, 0, 500, 375}})
    show(fmt::format("{} x {}", c.width, c.height), std::vector<Crop>(16, c));
}
