// sluice/aug/colour/jpeg_reference.cpp - what a JPEG file does to pixels, by its definition:
// conversion to YCbCr, chroma averaged 2 x 2, the integer DCT of Loeffler, Ligtenberg and Moschytz,
// quantised and back. Entropy coding loses nothing and is left out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/colour/jpeg_reference.h"

#include "sluice/aug/colour/jpeg_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace sluice::aug {
namespace {

/// Levels of one component, padded to whole blocks.
struct Plane {
  int width = 0, height = 0;  // in blocks of 8: wide * 8, high * 8
  std::vector<int> levels;
  Plane(int w, int h)
      : width((w + 7) / 8 * 8),
        height((h + 7) / 8 * 8),
        levels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}
  int& at(int x, int y) {
    return levels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
};

int fixed(double constant, int bits) {
  return static_cast<int>(constant * (1 << bits) + 0.5);
}
int constant(double value) {  // of the DCT
  return fixed(value, 13);
}
/// x / 2^bits, rounded, ties up.
int descale(int x, int bits) {
  return (x + (1 << (bits - 1))) >> bits;
}

struct Odd {
  int a, b, c, d;
};
/// The part both directions share.
Odd odd_part(int a, int b, int c, int d) {
  const int z5 = (a + b + c + d) * constant(1.175875602);
  const int z1 = -(a + d) * constant(0.899976223);
  const int z2 = -(b + c) * constant(2.562915447);
  const int z3 = -(a + c) * constant(1.961570560) + z5;
  const int z4 = -(b + d) * constant(0.390180644) + z5;
  return {a * constant(0.298631336) + z1 + z3, b * constant(2.053119869) + z2 + z4,
          c * constant(3.072711026) + z2 + z3, d * constant(1.501321110) + z1 + z4};
}

/// Eight values `step` apart. The first pass leaves 2 fraction bits, the second removes them.
void forward_line(int* v, int step, bool first) {
  const auto in = [&](int i) -> int& { return v[i * step]; };
  const int t0 = in(0) + in(7), t7 = in(0) - in(7), t1 = in(1) + in(6), t6 = in(1) - in(6);
  const int t2 = in(2) + in(5), t5 = in(2) - in(5), t3 = in(3) + in(4), t4 = in(3) - in(4);
  const int t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
  const int bits = first ? 11 : 15;
  in(0) = first ? (t10 + t11) * 4 : descale(t10 + t11, 2);
  in(4) = first ? (t10 - t11) * 4 : descale(t10 - t11, 2);
  const int z1 = (t12 + t13) * constant(0.541196100);
  in(2) = descale(z1 + t13 * constant(0.765366865), bits);
  in(6) = descale(z1 - t12 * constant(1.847759065), bits);
  const Odd odd = odd_part(t4, t5, t6, t7);
  in(7) = descale(odd.a, bits);
  in(5) = descale(odd.b, bits);
  in(3) = descale(odd.c, bits);
  in(1) = descale(odd.d, bits);
}

void inverse_line(int* v, int step, int bits) {
  const auto in = [&](int i) -> int& { return v[i * step]; };
  const int z1 = (in(2) + in(6)) * constant(0.541196100);
  const int t2 = z1 - in(6) * constant(1.847759065), t3 = z1 + in(2) * constant(0.765366865);
  const int t0 = (in(0) + in(4)) * 8192, t1 = (in(0) - in(4)) * 8192;
  const Odd odd = odd_part(in(7), in(5), in(3), in(1));
  const int t10 = t0 + t3, t13 = t0 - t3, t11 = t1 + t2, t12 = t1 - t2;
  in(0) = descale(t10 + odd.d, bits);
  in(7) = descale(t10 - odd.d, bits);
  in(1) = descale(t11 + odd.c, bits);
  in(6) = descale(t11 - odd.c, bits);
  in(2) = descale(t12 + odd.b, bits);
  in(5) = descale(t12 - odd.b, bits);
  in(3) = descale(t13 + odd.a, bits);
  in(4) = descale(t13 - odd.a, bits);
}

void block_round_trip(int (&block)[64], const JpegTable& table) {
  for (int i = 0; i < 8; ++i)
    forward_line(block + 8 * i, 1, true);
  for (int i = 0; i < 8; ++i)
    forward_line(block + i, 8, false);
  for (std::size_t i = 0; i < 64; ++i) {
    const int divisor = table[i] * 8;  // the DCT leaves a factor of 8
    const int level = (std::abs(block[i]) + divisor / 2) / divisor * table[i];
    block[i] = block[i] < 0 ? -level : level;
  }
  for (int i = 0; i < 8; ++i)
    inverse_line(block + i, 8, 11);
  for (int i = 0; i < 8; ++i)
    inverse_line(block + 8 * i, 1, 18);
}

void plane_round_trip(Plane& plane, const JpegTable& table) {
  for (int by = 0; by < plane.height; by += 8)
    for (int bx = 0; bx < plane.width; bx += 8) {
      int block[64];
      for (int i = 0; i < 64; ++i)
        block[i] = plane.at(bx + i % 8, by + i / 8) - 128;
      block_round_trip(block, table);
      for (int i = 0; i < 64; ++i)
        plane.at(bx + i % 8, by + i / 8) = std::clamp(block[i] + 128, 0, 255);
    }
}

struct Ycc {
  int y, cb, cr;
};
Ycc ycc_of(int r, int g, int b) {
  const auto c = [](double value) { return fixed(value, 16); };
  constexpr int kCentre = (128 << 16) + 32767;
  return {(c(0.299) * r + c(0.587) * g + c(0.114) * b + 32768) >> 16,
          (-c(0.16874) * r - c(0.33126) * g + 32768 * b + kCentre) >> 16,
          (32768 * r - c(0.41869) * g - c(0.08131) * b + kCentre) >> 16};
}

/// Chroma at a pixel: 9/16 of the nearest sample, 3/16, 3/16 and 1/16 of its neighbours. Ties
/// alternate; narrow images repeat samples.
int chroma_at(Plane& plane, int x, int y, int width, int height) {
  const int cw = (width + 1) / 2, ch = (height + 1) / 2, cx = x / 2, cy = y / 2;
  if (cw <= 2) return plane.at(cx, cy);
  const int far_y = std::clamp(y % 2 == 0 ? cy - 1 : cy + 1, 0, ch - 1);
  const int far_x = std::clamp(x % 2 == 0 ? cx - 1 : cx + 1, 0, cw - 1);
  const auto column = [&](int of) { return 3 * plane.at(of, cy) + plane.at(of, far_y); };
  return (3 * column(cx) + column(far_x) + (x % 2 == 0 ? 8 : 7)) >> 4;
}

}  // namespace

void jpeg_grey_reference(ImageSpan<std::uint8_t> image, int quality) {
  Plane plane(image.width(), image.height());
  for (int y = 0; y < plane.height; ++y)
    for (int x = 0; x < plane.width; ++x)
      plane.at(x, y) = image.at(std::min(x, image.width() - 1), std::min(y, image.height() - 1), 0);
  plane_round_trip(plane, jpeg_table(kJpegLuminance, quality));
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      image.at(x, y, 0) = static_cast<std::uint8_t>(plane.at(x, y));
}

void jpeg_bgr_reference(ImageSpan<std::uint8_t> image, int quality) {
  const int width = image.width(), height = image.height();
  const auto pixel = [&](int x, int y) {
    x = std::min(x, width - 1), y = std::min(y, height - 1);
    return ycc_of(image.at(x, y, 2), image.at(x, y, 1), image.at(x, y, 0));
  };
  Plane luma(width, height), cb((width + 1) / 2, (height + 1) / 2), cr = cb;
  for (int y = 0; y < luma.height; ++y)
    for (int x = 0; x < luma.width; ++x)
      luma.at(x, y) = pixel(x, y).y;
  for (int y = 0; y < cb.height; ++y)
    for (int x = 0; x < cb.width; ++x) {
      const int top = 2 * std::min(y, (height + 1) / 2 - 1);  // rows below repeat the last average
      int blue = x % 2 + 1, red = blue;                       // ties alternate by column
      for (int i = 0; i < 4; ++i) {
        const Ycc one = pixel(2 * x + i % 2, top + i / 2);
        blue += one.cb;
        red += one.cr;
      }
      cb.at(x, y) = blue >> 2;
      cr.at(x, y) = red >> 2;
    }
  plane_round_trip(luma, jpeg_table(kJpegLuminance, quality));
  plane_round_trip(cb, jpeg_table(kJpegChrominance, quality));
  plane_round_trip(cr, jpeg_table(kJpegChrominance, quality));
  const auto c = [](double value) { return fixed(value, 16); };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int blue = chroma_at(cb, x, y, width, height) - 128;
      const int red = chroma_at(cr, x, y, width, height) - 128;
      const auto set = [&](int channel, int off) {
        image.at(x, y, channel) =
            static_cast<std::uint8_t>(std::clamp(luma.at(x, y) + off, 0, 255));
      };
      set(2, (c(1.402) * red + 32768) >> 16);
      set(1, (-c(0.34414) * blue - c(0.71414) * red + 32768) >> 16);
      set(0, (c(1.772) * blue + 32768) >> 16);
    }
}

}  // namespace sluice::aug
