// sluice/aug/colour/colour_reference.cpp - the definitions of the colour operations, pixel by
// pixel.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/colour_chain.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

int clip_level(int level) {
  return std::clamp(level, 0, 255);
}
int floor_divide(int a, int b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

template <class T>
struct Pixel {
  T r, g, b;
};
template <class T>
Pixel<T> pixel_at(const ImageSpan<T>& image, int x, int y) {
  return {image.at(x, y, 0), image.at(x, y, 1), image.at(x, y, 2)};
}
template <class T>
void set_pixel(const ImageSpan<T>& image, int x, int y, const Pixel<T>& pixel) {
  image.at(x, y, 0) = pixel.r;
  image.at(x, y, 1) = pixel.g;
  image.at(x, y, 2) = pixel.b;
}

int grey_level(const Pixel<std::uint8_t>& p) {
  return (9798 * p.r + 19235 * p.g + 3735 * p.b + 16384) >> 15;
}
double grey_level(const Pixel<float>& p) {
  return 0.299 * static_cast<double>(p.r) + 0.587 * static_cast<double>(p.g) +
         0.114 * static_cast<double>(p.b);
}
template <class T>
double mean_grey(const ImageSpan<T>& image) {
  double sum = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      sum += static_cast<double>(grey_level(pixel_at(image, x, y)));
  return sum / (static_cast<double>(image.width()) * image.height());
}

/// Calls change(sample) or change(pixel) for all of an image.
template <class T, class Change>
void for_samples(const ImageSpan<T>& image, Change change) {
  for (int y = 0; y < image.height(); ++y)
    for (std::size_t i = 0; i < image.row_samples(); ++i)
      image.row(y)[i] = change(image.row(y)[i]);
}
template <class T, class Change>
void for_pixels(const ImageSpan<T>& image, Change change) {
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      set_pixel(image, x, y, change(pixel_at(image, x, y)));
}

/// Rounded up, so that x * 1.1 is not just below 11 for an x of 10.
int in_parts(double factor) {
  return static_cast<int>(std::ceil(factor * 8192));
}

void brighten(const ImageSpan<std::uint8_t>& image, double b) {
  const int factor = in_parts(b);
  for_samples(image, [&](std::uint8_t x) {
    return static_cast<std::uint8_t>(clip_level((x * factor) >> 13));
  });
}
void brighten(const ImageSpan<float>& image, double b) {
  for_samples(image, [&](float x) {
    return static_cast<float>(std::clamp(static_cast<double>(x) * b, 0.0, 1.0));
  });
}

/// b: brightness taken in the same step.
void contrast(const ImageSpan<std::uint8_t>& image, double b, double c, bool with_brightness) {
  const int first = in_parts(b), second = in_parts(c);
  double mean = mean_grey(image);
  if (with_brightness) mean *= first / 8192.0;
  const int offset = static_cast<int>(std::floor(mean * (8192 - second) / 256.0 + 0.5));
  for_samples(image, [&](std::uint8_t x) {
    int parts = 0;  // 1/32 level
    if (with_brightness)
      parts = (std::min((x * first) >> 8, 255 * 32) * second) >> 13;
    else
      parts = (x * second) >> 8;
    return static_cast<std::uint8_t>(clip_level(floor_divide(parts + offset, 32)));
  });
}
void contrast(const ImageSpan<float>& image, double b, double c, bool with_brightness) {
  const double mean = mean_grey(image) * (with_brightness ? b : 1.0);
  if (with_brightness) brighten(image, b);
  for_samples(image, [&](float x) {
    return static_cast<float>(std::clamp(static_cast<double>(x) * c + mean * (1 - c), 0.0, 1.0));
  });
}

void saturate(const ImageSpan<std::uint8_t>& image, double s) {
  const int factor = static_cast<int>(std::lround(s * 8192));
  for_pixels(image, [&](const Pixel<std::uint8_t>& p) {
    const int grey = grey_level(p);
    const auto blend = [&](int x) {
      const int exact = grey * 8192 + (x - grey) * factor;  // 1/8192 level
      int level = floor_divide(exact + 4096, 8192);
      if (level * 8192 == exact + 4096 && level % 2 != 0) --level;
      return static_cast<std::uint8_t>(clip_level(level));
    };
    return Pixel<std::uint8_t>{blend(p.r), blend(p.g), blend(p.b)};
  });
}
void saturate(const ImageSpan<float>& image, double s) {
  for_pixels(image, [&](const Pixel<float>& p) {
    const double grey = grey_level(p);
    const auto blend = [&](float x) {
      return static_cast<float>(std::clamp(grey + (static_cast<double>(x) - grey) * s, 0.0, 1.0));
    };
    return Pixel<float>{blend(p.r), blend(p.g), blend(p.b)};
  });
}

/// H of 8 bits: the quotient is a product with 30 / range, rounded to 1/4096.
int hue_level(const Pixel<std::uint8_t>& p, int value, int range) {
  if (range == 0) return 0;
  int turn = p.r - p.g + 4 * range;
  if (value == p.r)
    turn = p.g - p.b;
  else if (value == p.g)
    turn = p.b - p.r + 2 * range;
  const int divisor = static_cast<int>(std::lround(122880.0 / range));
  const int hue = floor_divide(turn * divisor + 2048, 4096);
  return hue < 0 ? hue + 180 : hue;
}

Pixel<std::uint8_t> shift_hsv(const Pixel<std::uint8_t>& p, const HsvShift& shift) {
  const int value = std::max({p.r, p.g, p.b});
  const int range = value - std::min({p.r, p.g, p.b});
  const int hue = ((hue_level(p, value, range) + shift.hue) % 180 + 180) % 180;
  int saturation = value == 0 ? 0 : (2 * 255 * range + value) / (2 * value);
  if (saturation > 0) saturation = clip_level(saturation + shift.saturation);
  const int sector = hue / 30, part = hue % 30;
  const auto level = [&](int fall) {  // value * (1 - saturation * fall), fall of 30, rounded down
    const int quotient = ((7650 - saturation * fall) * 17545) >> 13;  // 1/16384
    return static_cast<std::uint8_t>((((value * quotient) >> 8) + 1) >> 6);
  };
  const auto v = static_cast<std::uint8_t>(value);
  const auto low = static_cast<std::uint8_t>(value * (255 - saturation) / 255);
  const std::uint8_t down = part == 0 ? v : level(part), up = part == 0 ? low : level(30 - part);
  switch (sector) {
    case 0:
      return {v, up, low};
    case 1:
      return {down, v, low};
    case 2:
      return {low, v, up};
    case 3:
      return {low, down, v};
    case 4:
      return {up, low, v};
    default:
      return {v, low, down};
  }
}

/// turns: -0.5 to 0.5.
void turn_hue(const ImageSpan<std::uint8_t>& image, double turns) {
  const HsvShift shift{.hue = static_cast<int>(std::floor(turns * 180))};
  for_pixels(image, [&](const Pixel<std::uint8_t>& p) { return shift_hsv(p, shift); });
}
void turn_hue(const ImageSpan<float>& image, double turns) {
  for_pixels(image, [&](const Pixel<float>& p) {
    const double r = static_cast<double>(p.r), g = static_cast<double>(p.g),
                 b = static_cast<double>(p.b);
    const double value = std::max({r, g, b});
    const double range = value - std::min({r, g, b});
    if (range == 0) return p;
    double hue = 4 + (r - g) / range;  // sectors of a sixth
    if (value == r)
      hue = (g - b) / range;
    else if (value == g)
      hue = 2 + (b - r) / range;
    hue = std::fmod(hue + turns * 6 + 12, 6);
    const auto channel = [&](double centre) {  // 1 - fall, by distance from the channel's hue
      const double away = std::abs(hue - centre);
      return static_cast<float>(value - range * std::clamp(std::min(away, 6 - away) - 1, 0.0, 1.0));
    };
    return Pixel<float>{channel(0), channel(2), channel(4)};
  });
}

}  // namespace

template <class T>
void colour_chain_reference(ImageSpan<T> dst, ImageView<T> src, const ColourChainDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    std::copy_n(src.row(y), src.row_samples(), dst.row(y));
  for (std::size_t i = 0; i < 4; ++i)
    switch (draw.order[i]) {
      case 0:
        if (i == 3 || draw.order[i + 1] != 1) brighten(dst, draw.brightness);
        break;
      case 1:
        contrast(dst, draw.brightness, draw.contrast, i > 0 && draw.order[i - 1] == 0);
        break;
      case 2:
        saturate(dst, draw.saturation);
        break;
      default:
        if (draw.hue != 0) turn_hue(dst, draw.hue);
    }
  for_pixels(dst, [&](const Pixel<T>& p) {
    const std::array<T, 3> all{p.r, p.g, p.b};
    const auto from = [&](std::size_t c) {
      return all[static_cast<std::size_t>(draw.channels[c])];
    };
    return Pixel<T>{from(0), from(1), from(2)};
  });
}
template void colour_chain_reference(ImageSpan<std::uint8_t>, ImageView<std::uint8_t>,
                                     const ColourChainDraw&);
template void colour_chain_reference(ImageSpan<float>, ImageView<float>, const ColourChainDraw&);

template <class T>
void hsv_shift_reference(ImageSpan<T> dst, ImageView<T> src, const HsvShift& shift) {
  const auto level = [](T sample) {
    if constexpr (std::same_as<T, float>)
      return static_cast<std::uint8_t>(
          std::clamp(std::nearbyint(static_cast<double>(sample * 255.0F)), 0.0, 255.0));
    else
      return sample;
  };
  const auto sample = [](std::uint8_t of) {
    return std::same_as<T, float> ? static_cast<T>(of / 255.0) : static_cast<T>(of);
  };
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x) {
      const Pixel<std::uint8_t> p = shift_hsv(
          {level(src.at(x, y, 0)), level(src.at(x, y, 1)), level(src.at(x, y, 2))}, shift);
      set_pixel(dst, x, y, {sample(p.r), sample(p.g), sample(p.b)});
    }
}
template void hsv_shift_reference(ImageSpan<std::uint8_t>, ImageView<std::uint8_t>,
                                  const HsvShift&);
template void hsv_shift_reference(ImageSpan<float>, ImageView<float>, const HsvShift&);

}  // namespace sluice::aug
