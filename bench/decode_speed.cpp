// bench/decode_speed.cpp - milliseconds per image of every way to decode: the quick look while a
// decoder is being written. What is published comes from `sluice bench decode`.
// SPDX-License-Identifier: Apache-2.0
//
// usage: decode_speed [WIDTH HEIGHT [COUNT]]     500 375 64 unless given
#include "sluice/core/rng.h"
#include "sluice/image/codec.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/png/decoder.h"
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
using Buffer = std::vector<std::uint8_t>;

constexpr double kSeconds = 1.5;  // per row
constexpr int kSide = 224;        // wanted by the scaled rows
constexpr std::size_t kSlots = 8;

void require(const Status& status) {
  if (status) return;
  fmt::print("{}\n", status.error().message);
  std::exit(1);
}

/// The fastest pass over all files, in milliseconds of CPU time per file: other work on the machine
/// disturbs it less than it does the clock on the wall.
template <class One>
void show(const char* name, std::size_t count, double file_bytes, One one) {
  double best = 1e300;
  const auto begin = Clock::now();
  do {
    const std::clock_t start = std::clock();
    for (std::size_t i = 0; i < count; ++i)
      one(i);
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds);
  fmt::print("{:34} {:8.3f} ms  {:7.1f} KB a file\n", name, best / static_cast<double>(count),
             file_bytes / 1e3);
  std::fflush(stdout);
}

double mean_size(const std::vector<Buffer>& files) {
  double sum = 0;
  for (const Buffer& file : files)
    sum += static_cast<double>(file.size());
  return sum / static_cast<double>(files.size());
}

/// RandomResizedCrop's: 8 % to all of the area, 3:4 to 4:3, ten tries.
std::vector<Rect> draw_crops(std::size_t count, int width, int height) {
  std::vector<Rect> crops;
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng({.seed = 7, .index = i});
    Rect crop{0, 0, width, height};
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double area = rng.uniform(0.08, 1) * width * height;
      const double ratio = std::exp(rng.uniform(std::log(0.75), std::log(4.0 / 3)));
      const int w = static_cast<int>(std::lround(std::sqrt(area * ratio)));
      const int h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      crop = {static_cast<int>(rng.uniform(0, width - w + 1)),
              static_cast<int>(rng.uniform(0, height - h + 1)), w, h};
      break;
    }
    crops.push_back(crop);
  }
  return crops;
}

void time_jpeg(const std::vector<Buffer>& files, const std::vector<Rect>& crops) {
  Decoder decoder;
  std::vector<Image> out(kSlots);
  const double size = mean_size(files);
  show("jpeg, header", files.size(), size,
       [&](std::size_t i) { (void)decoder.open(files[i]).value(); });
  show("jpeg, whole", files.size(), size,
       [&](std::size_t i) { require(decoder.decode(out[i % kSlots], files[i])); });
  show("jpeg, crop, exact", files.size(), size,
       [&](std::size_t i) { require(decoder.decode_region(out[i % kSlots], files[i], crops[i])); });
  std::size_t scaled = 0, all = 0;
  show("jpeg, crop, scaled for 224", files.size(), size, [&](std::size_t i) {
    (void)decoder.open(files[i]).value();
    const auto done = decoder.read_scaled(out[i % kSlots], crops[i], kSide, kSide);
    scaled += done.value().scale != DctScale::full ? 1 : 0;
    ++all;
  });
  fmt::print("{:34} {:8.1f} %\n", "  of these not 8/8",
             100.0 * static_cast<double>(scaled) / static_cast<double>(all));
}

void time_png(const std::vector<Buffer>& files, const std::vector<Rect>& crops) {
  Decoder decoder;
  PngDecoder reference;
  reference.use_reference(true);
  std::vector<Image> out(kSlots);
  const double size = mean_size(files);
  show("png, libpng", files.size(), size, [&](std::size_t i) {
    const ImageInfo info = reference.open(files[i], {}).value();
    require(out[i % kSlots].resize_for(info.width, info.height, 3));
    require(reference.read(out[i % kSlots].span<std::uint8_t>(), {0, 0, info.width, info.height}));
  });
  show("png, ours", files.size(), size,
       [&](std::size_t i) { require(decoder.decode(out[i % kSlots], files[i])); });
  show("png, ours, crop", files.size(), size,
       [&](std::size_t i) { require(decoder.decode_region(out[i % kSlots], files[i], crops[i])); });
}

void time_webp(const char* name, const std::vector<Buffer>& files) {
  Decoder decoder;
  std::vector<Image> out(kSlots);
  show(name, files.size(), mean_size(files),
       [&](std::size_t i) { require(decoder.decode(out[i % kSlots], files[i])); });
}

}  // namespace

int main(int argc, char** argv) {
  const int width = argc > 2 ? std::atoi(argv[1]) : 500;
  const int height = argc > 2 ? std::atoi(argv[2]) : 375;
  const auto count = static_cast<std::size_t>(argc > 3 ? std::atoi(argv[3]) : 64);
  std::vector<Buffer> jpeg(count), png(count), lossy(count), lossless(count);
  PhotoMaker maker;
  Image photo;
  for (std::size_t i = 0; i < count; ++i) {
    require(maker.make_jpeg(jpeg[i], 1, i, {.width = width, .height = height, .quality = 92}));
    require(decode(photo, jpeg[i]));
    const auto view = photo.view<std::uint8_t>();
    require(encode_png(png[i], view));
    require(encode_webp(lossy[i], view));
    if (i < 8) require(encode_webp(lossless[i], view, {.lossless = true}));
  }
  lossless.resize(std::min<std::size_t>(count, 8));  // slow to make
  fmt::print("{} photographs of {}x{}, {}\n", count, width, height, simd_target());
  const std::vector<Rect> crops = draw_crops(count, width, height);
  time_jpeg(jpeg, crops);
  time_png(png, crops);
  time_webp("webp, lossy", lossy);
  time_webp("webp, lossless", lossless);
}
