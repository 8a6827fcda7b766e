// adapters/cpp/recipes_colour.cpp - what changes values one by one: tables, channels, histograms,
// JPEG.
// SPDX-License-Identifier: Apache-2.0
#include "adapters/cpp/opencv_recipes.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace sluice::opencv {
namespace {

Recipe fixed(std::function<void(const cv::Mat&, cv::Mat&)> apply) {
  return {{}, std::move(apply)};
}

/// A table of 256 values, applied to every channel.
Recipe lookup(const std::function<double(int)>& value) {
  cv::Mat table(1, 256, CV_8U);
  for (int v = 0; v < 256; ++v)
    table.at<std::uint8_t>(v) = cv::saturate_cast<std::uint8_t>(value(v));
  return fixed([table](const cv::Mat& in, cv::Mat& out) { cv::LUT(in, table, out); });
}

Recipe posterize(const Params& params) {
  const int bits = params.integer("bits", 1, 8);
  return lookup([bits](int v) { return v & (0xFF << (8 - bits)) & 0xFF; });
}

Recipe solarize(const Params& params) {
  const double limit = params.number("threshold") * 255;
  return lookup([limit](int v) { return v >= limit ? 255 - v : v; });
}

Recipe gamma(const Params& params) {
  const double power = params.number("gamma") / 100;
  return lookup([power](int v) { return 255 * std::pow(v / 255.0, power); });
}

/// mixChannels with a drawn list of sources; -1 is zero.
Recipe mix(std::function<std::array<int, 3>(Rng&)> draw) {
  auto pairs = std::make_shared<std::array<int, 6>>();
  return {[=](cv::Size, Rng& rng) {
            const std::array<int, 3> sources = draw(rng);
            for (std::size_t c = 0; c < 3; ++c) {
              (*pairs)[2 * c] = sources[c];
              (*pairs)[2 * c + 1] = static_cast<int>(c);
            }
          },
          [=](const cv::Mat& in, cv::Mat& out) {
            out.create(in.size(), in.type());
            cv::mixChannels(&in, 1, &out, 1, pairs->data(), 3);
          }};
}

Recipe channel_shuffle(const Params&) {
  return mix([](Rng& rng) {
    std::array<int, 3> order = {0, 1, 2};
    rng.shuffle(std::span<int>(order));
    return order;
  });
}

Recipe channel_dropout(const Params&) {
  return mix([](Rng& rng) {
    std::array<int, 3> sources = {0, 1, 2};
    sources[rng.below(3)] = -1;
    return sources;
  });
}

Recipe rgb_shift(const Params& params) {
  const int limit = params.integer("pixel_shift", 0, 255);
  auto shift = std::make_shared<cv::Scalar>();
  return {[=](cv::Size, Rng& rng) {
            for (int c = 0; c < 3; ++c)
              (*shift)[c] = draw_integer(rng, -limit, limit);
          },
          [=](const cv::Mat& in, cv::Mat& out) { cv::add(in, *shift, out); }};
}

Recipe grayscale(const Params&) {
  auto grey = std::make_shared<cv::Mat>();
  return fixed([=](const cv::Mat& in, cv::Mat& out) {
    cv::cvtColor(in, *grey, cv::COLOR_RGB2GRAY);
    cv::cvtColor(*grey, out, cv::COLOR_GRAY2RGB);
  });
}

/// `change` on each channel by itself, in place.
Recipe per_channel(std::function<void(cv::Mat&)> change) {
  auto channels = std::make_shared<std::vector<cv::Mat>>();
  return fixed([=](const cv::Mat& in, cv::Mat& out) {
    cv::split(in, *channels);
    for (cv::Mat& channel : *channels)
      change(channel);
    cv::merge(*channels, out);
  });
}

Recipe auto_contrast(const Params&) {
  return per_channel(
      [](cv::Mat& channel) { cv::normalize(channel, channel, 0, 255, cv::NORM_MINMAX); });
}

Recipe equalize(const Params&) {
  return per_channel([](cv::Mat& channel) { cv::equalizeHist(channel, channel); });
}

Recipe jpeg(const Params& params) {
  struct State {
    cv::Mat bgr, decoded;
    std::vector<std::uint8_t> stream;
  };
  const std::vector<int> options = {cv::IMWRITE_JPEG_QUALITY, params.integer("quality", 1, 100)};
  auto state = std::make_shared<State>();
  return fixed([=](const cv::Mat& in, cv::Mat& out) {
    cv::cvtColor(in, state->bgr, cv::COLOR_RGB2BGR);
    cv::imencode(".jpg", state->bgr, state->stream, options);
    cv::imdecode(state->stream, cv::IMREAD_COLOR, &state->decoded);
    cv::cvtColor(state->decoded, out, cv::COLOR_BGR2RGB);
  });
}

Recipe clahe(const Params& params) {
  struct State {
    cv::Ptr<cv::CLAHE> equaliser;
    cv::Mat lab, light, equal;
  };
  const Params::Range clip = params.range("clip_limit");
  const Params::Pair tiles = params.pair("tile_grid", 1, 256);
  auto state = std::make_shared<State>();
  state->equaliser = cv::createCLAHE(clip.low, {tiles.first, tiles.second});
  return {[=](cv::Size, Rng& rng) { state->equaliser->setClipLimit(clip.draw(rng)); },
          [=](const cv::Mat& in, cv::Mat& out) {
            cv::cvtColor(in, state->lab, cv::COLOR_RGB2Lab);
            cv::extractChannel(state->lab, state->light, 0);
            state->equaliser->apply(state->light, state->equal);
            cv::insertChannel(state->equal, state->lab, 0);
            cv::cvtColor(state->lab, out, cv::COLOR_Lab2RGB);
          }};
}

/// g = alpha f + beta.
Recipe scaled(double alpha, double beta) {
  return fixed([=](const cv::Mat& in, cv::Mat& out) { cv::convertScaleAbs(in, out, alpha, beta); });
}

}  // namespace

void add_colour(RecipeTable& table) {
  table["ChannelShuffle"] = channel_shuffle;
  table["ChannelDropout"] = channel_dropout;
  table["Grayscale"] = grayscale;
  table["RGBShift"] = rgb_shift;
  table["Invert"] = [](const Params&) {
    return fixed([](const cv::Mat& in, cv::Mat& out) { cv::bitwise_not(in, out); });
  };
  table["Posterize"] = posterize;
  table["Solarize"] = solarize;
  table["RandomGamma"] = gamma;
  table["AutoContrast"] = auto_contrast;
  table["Equalize"] = equalize;
  table["JpegCompression"] = jpeg;
  table["CLAHE"] = clahe;
  table["Brightness"] = [](const Params& params) {
    return scaled(1, 255 * params.range("brightness_limit").low);
  };
  table["Contrast"] = [](const Params& params) {
    return scaled(1 + params.range("contrast_limit").low, 0);
  };
}

}  // namespace sluice::opencv
