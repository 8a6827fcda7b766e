// bench/decode_opencv_check.cpp - a first look at decode, resize and normalise against OpenCV:
// alternating, best of N.
// SPDX-License-Identifier: Apache-2.0
//
// For the developer at the desk. Published numbers come from the harness (interleaved fresh
// processes), not from here.
#include "sluice/image/codec.h"
#include "sluice/image/normalize.h"
#include "sluice/image/photo.h"
#include "sluice/image/resize.h"
#include "sluice/image/simd.h"

#include <fmt/format.h>

#include "bench/opencv_decode_subject.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace {

using sluice::image::Image;

double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(const char* name, std::size_t items, const std::function<void()>& ours,
             const std::function<void()>& theirs) {
  double best_ours = 1e9, best_theirs = 1e9;
  for (int round = 0; round < 15; ++round) {
    best_ours = std::min(best_ours, seconds(ours));
    best_theirs = std::min(best_theirs, seconds(theirs));
  }
  fmt::print("{:<28} sluice {:8.4f} ms  opencv {:8.4f} ms  ratio {:.3f}\n", name,
             best_ours * 1e3 / static_cast<double>(items),
             best_theirs * 1e3 / static_cast<double>(items), best_theirs / best_ours);
}

}  // namespace

int main() {
  using namespace sluice::image;  // NOLINT(google-build-using-namespace): a small program
  constexpr std::size_t kCount = 48;
  std::vector<std::vector<std::uint8_t>> files(kCount);
  PhotoMaker maker;
  for (std::size_t i = 0; i < kCount; ++i)
    if (!maker.make_jpeg(files[i], 0, i, photo_spec(0, i))) return EXIT_FAILURE;
  sluice::bench::OpencvDecoder opencv;
  Decoder decoder;
  Image image;
  for (const auto& file : files) {  // results before times
    const auto theirs = opencv.decode(file);
    if (!decoder.decode(image, file) || theirs.width != image.width() ||
        theirs.height != image.height())
      return EXIT_FAILURE;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x)
        for (int c = 0; c < 3; ++c)
          if (image.view<std::uint8_t>().at(x, y, c) !=
              theirs.data[static_cast<std::size_t>(y) * theirs.pitch_bytes +
                          static_cast<std::size_t>(x * 3 + 2 - c)]) {
            fmt::print("decode differs at {},{}\n", x, y);
            return EXIT_FAILURE;
          }
  }
  fmt::print("target {}, OpenCV {}\n", simd_target(), sluice::bench::OpencvDecoder::version());
  compare(
      "decode jpeg", kCount,
      [&] {
        for (const auto& file : files)
          if (!decoder.decode(image, file)) std::abort();
      },
      [&] {
        for (const auto& file : files)
          opencv.decode(file);
      });

  std::vector<Image> images(kCount);
  std::vector<cv::Mat> mats(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!decoder.decode(images[i], files[i])) return EXIT_FAILURE;
    mats[i] = cv::Mat(images[i].height(), images[i].width(), CV_8UC3,
                      images[i].span<std::uint8_t>().data());
  }
  BilinearResizer resizer;
  for (const int side : {224, 256, 600, 64}) {
    Image small;
    if (!small.resize_for(side, side, 3)) return EXIT_FAILURE;
    cv::Mat small_mat;
    compare(
        fmt::format("resize u8x3 to {}", side).c_str(), kCount,
        [&] {
          for (auto& source : images)
            if (!resizer.run(small.span<std::uint8_t>(), source.view<std::uint8_t>())) std::abort();
        },
        [&] {
          for (auto& source : mats)
            cv::resize(source, small_mat, {side, side}, 0, 0, cv::INTER_LINEAR);
        });
  }
  Image small;
  if (!small.resize_for(224, 224, 3)) return EXIT_FAILURE;
  if (!resizer.run(small.span<std::uint8_t>(), images[0].view<std::uint8_t>())) return EXIT_FAILURE;
  const cv::Mat small_mat(224, 224, CV_8UC3, small.span<std::uint8_t>().data());
  std::vector<float> chw(224 * 224 * 3);
  cv::Mat floats;
  const Normalization normalization = Normalization::imagenet();
  compare(
      "normalize 224 to CHW", 100,
      [&] {
        for (int i = 0; i < 100; ++i)
          if (!normalize_chw(chw, small.view<std::uint8_t>(), normalization)) std::abort();
      },
      [&] {
        std::vector<cv::Mat> planes;
        for (int i = 0; i < 100; ++i) {
          small_mat.convertTo(floats, CV_32F, 1 / 255.0);
          cv::subtract(floats, cv::Scalar(0.485, 0.456, 0.406), floats);
          cv::divide(floats, cv::Scalar(0.229, 0.224, 0.225), floats);
          cv::split(floats, planes);
        }
      });
  return EXIT_SUCCESS;
}
