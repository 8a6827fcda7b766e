// sluice/image/inputs/photo.cpp - synthetic photographs, in integers.
// SPDX-License-Identifier: Apache-2.0
//
// A "dead leaves" image: shapes whose sizes follow a power law lie one over another, as objects
// occlude each other in a scene; such images have the 1/f spectrum of photographs. Each shape has a
// colour, a gradient and an amount of texture; the texture is noise of equal strength per octave. A
// 3x3 blur stands for the lens, grain for the sensor.
#include "sluice/image/inputs/photo.h"

#include "sluice/core/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::image {
namespace {

// Stages of RngKey: what is drawn from where never changes, or every checked-in hash does.
constexpr std::uint32_t kPhotoSpecStage = 1, kPhotoSceneStage = 2, kPhotoNoiseStage = 3;

constexpr int kUnit = 64;    // one grey level in the fixed-point planes
constexpr int kOctaves = 8;  // cells of 128 pixels down to 1
constexpr int kMaxLeaves = 200;

constexpr std::array<int, 17> kQuarterCosine = {1024, 1019, 1004, 980, 946, 903, 851, 792, 724,
                                                650,  569,  483,  392, 297, 200, 100, 0};
/// 1024 cos of angle / 64 turns.
int cosine(unsigned angle) {
  angle &= 63;
  if (angle > 32) angle = 64 - angle;
  return angle <= 16 ? kQuarterCosine[angle] : -kQuarterCosine[32 - angle];
}
int sine(unsigned angle) {
  return cosine(angle + 48);
}

std::uint32_t integer_root(std::uint64_t value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1)
    if ((root | bit) * (root | bit) <= value) root |= bit;
  return static_cast<std::uint32_t>(root);
}

/// SplitMix64: one multiply-xorshift chain per eight bytes of noise; Philox is kept for decisions.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Sum of four bytes around 0: nearly normal, standard deviation 148.
int bell(std::uint32_t bits) {
  const std::uint32_t pairs = (bits & 0x00FF00FF) + ((bits >> 8) & 0x00FF00FF);
  return static_cast<int>((pairs & 0xFFFF) + (pairs >> 16)) - 510;
}

struct Leaf {
  enum class Shape : std::uint8_t { everything, disc, bar, half_plane };
  Shape shape = Shape::everything;
  int x = 0, y = 0;               // centre
  int radius = 0, thickness = 0;  // thickness: of a bar, across
  int cos = 1024, sin = 0;
  std::array<int, 3> colour{};         // luma, blue and red difference, in kUnit
  int gradient_x = 0, gradient_y = 0;  // of luma, in kUnit / 16 per pixel
  int texture = 0;                     // of 256
};

void draw_colour(Leaf& leaf, Rng& rng, int warmth) {
  leaf.colour[0] = rng.between(24, 232) * kUnit;
  const int saturation = rng.between(0, 5) == 0 ? 32 : 10;
  leaf.colour[1] = (rng.between(-saturation, saturation) - warmth) * kUnit;
  leaf.colour[2] = (rng.between(-saturation, saturation) + warmth) * kUnit;
  leaf.gradient_x = rng.between(-120, 120);
  leaf.gradient_y = rng.between(-120, 120);
  // A third of the surfaces are smooth: sky, walls, skin.
  leaf.texture = rng.between(0, 2) == 0 ? rng.between(8, 40) : rng.between(60, 320);
}

/// Radius with density r^-3 between `low` and `high`: what scale invariance asks for.
int draw_radius(Rng& rng, int low, int high) {
  const auto low2 = static_cast<std::uint64_t>(low) * static_cast<std::uint64_t>(low);
  const auto high2 = static_cast<std::uint64_t>(high) * static_cast<std::uint64_t>(high);
  const std::uint64_t span = 65536 - 65536 * low2 / high2;
  const std::uint64_t rest = 65536 - rng.below(65536) * span / 65536;
  return static_cast<int>(integer_root(low2 * 65536 / rest));
}

int draw_scene(std::array<Leaf, kMaxLeaves>& leaves, Rng& rng, int width, int height) {
  const int count = rng.between(60, kMaxLeaves);
  const int side = std::min(width, height);
  const int warmth = rng.between(-6, 10);
  for (int i = 0; i < count; ++i) {
    Leaf& leaf = leaves[static_cast<std::size_t>(i)];
    leaf = {};
    draw_colour(leaf, rng, warmth);
    leaf.x = rng.between(0, width - 1);
    leaf.y = rng.between(0, height - 1);
    // Large shapes first, so that they do not bury the rest.
    const int high = std::max(9, i < count / 6 ? side / 2 : side / 8);
    leaf.radius = draw_radius(rng, i < count / 6 ? std::max(8, side / 10) : 6, high);
    leaf.thickness = std::max(2, leaf.radius * rng.between(2, 16) / 16);
    const auto angle = static_cast<unsigned>(rng.below(64));
    leaf.cos = cosine(angle);
    leaf.sin = sine(angle);
    leaf.shape = rng.between(0, 1) == 0 ? Leaf::Shape::disc : Leaf::Shape::bar;
    if (i == 0) leaf.shape = Leaf::Shape::everything;
    if (i == 1 || i == 2) leaf.shape = Leaf::Shape::half_plane;
  }
  return count;
}

/// Labels the pixels of one row, [left, right), that lie on the leaf; everything is scaled by 1024,
/// nothing divided.
void paint_row(std::uint8_t* row, const Leaf& leaf, std::uint8_t label, int left, int right,
               int dy) {
  const int reach = leaf.radius * 1024, half = leaf.thickness * 1024;
  switch (leaf.shape) {
    case Leaf::Shape::everything:
      break;
    case Leaf::Shape::half_plane:
      for (int x = left; x < right; ++x)
        if (dy * leaf.cos >= (x - leaf.x) * leaf.sin) row[x] = label;
      break;
    case Leaf::Shape::disc:
      for (int x = left; x < right; ++x)
        if ((x - leaf.x) * (x - leaf.x) <= leaf.radius * leaf.radius - dy * dy) row[x] = label;
      break;
    case Leaf::Shape::bar:
      for (int x = left; x < right; ++x) {
        const int along = (x - leaf.x) * leaf.cos + dy * leaf.sin;
        const int across = dy * leaf.cos - (x - leaf.x) * leaf.sin;
        if ((along <= reach) & (along >= -reach) & (across <= half) & (across >= -half))
          row[x] = label;
      }
      break;
  }
}

std::uint8_t to_byte(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

}  // namespace

struct PhotoMaker::State {
  using Plane = std::vector<std::int16_t>;
  int width = 0, height = 0;
  std::array<Leaf, kMaxLeaves> leaves;
  std::vector<std::uint8_t> drawn, labels;  // which leaf, before and after warp_labels
  std::array<Plane, 3> planes;              // luma, blue, red difference, in kUnit
  Plane texture, coarse, line;
  Image pixels;  // of make_jpeg

  [[nodiscard]] std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  }

  void paint_labels(int count) {
    drawn.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
    for (int i = 1; i < count; ++i) {
      const Leaf& leaf = leaves[static_cast<std::size_t>(i)];
      const bool bounded = leaf.shape != Leaf::Shape::half_plane;
      const int reach = leaf.radius * 3 / 2 + 1;  // a bar's corner
      const int left = bounded ? std::max(0, leaf.x - reach) : 0;
      const int right = bounded ? std::min(width, leaf.x + reach + 1) : width;
      const int top = bounded ? std::max(0, leaf.y - reach) : 0;
      const int bottom = bounded ? std::min(height, leaf.y + reach + 1) : height;
      for (int y = top; y < bottom; ++y)
        paint_row(&drawn[at(0, y)], leaf, static_cast<std::uint8_t>(i), left, right, y - leaf.y);
    }
  }

  /// Outlines as ragged as the texture is: each pixel takes the label a few pixels away.
  void warp_labels() {
    labels.resize(drawn.size());
    const auto stride = static_cast<std::size_t>(width) + 2;
    for (int y = 0; y < height; ++y) {
      const std::int16_t* shift_x = texture.data() + static_cast<std::size_t>(y) * stride;
      const std::int16_t* shift_y = texture.data() + static_cast<std::size_t>(height - y) * stride;
      for (int x = 0; x < width; ++x)
        labels[at(x, y)] = drawn[at(std::clamp(x + shift_x[x] / 56, 0, width - 1),
                                    std::clamp(y + shift_y[width - x] / 56, 0, height - 1))];
    }
  }

  void shade() {
    for (Plane& plane : planes)
      plane.resize(labels.size());
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const std::size_t i = at(x, y);
        const Leaf& leaf = leaves[labels[i]];
        const int slope = (leaf.gradient_x * (x - leaf.x) + leaf.gradient_y * (y - leaf.y)) / 16;
        planes[0][i] =
            static_cast<std::int16_t>(leaf.colour[0] + std::clamp(slope, -60 * kUnit, 60 * kUnit));
        planes[1][i] = static_cast<std::int16_t>(leaf.colour[1]);
        planes[2][i] = static_cast<std::int16_t>(leaf.colour[2]);
      }
  }

  /// 1 2 1 both ways, in place; the edge repeats.
  void blur(Plane& plane) {
    const auto w = static_cast<std::size_t>(width);
    line.resize(2 * w + 2);
    std::int16_t* above = line.data();    // the row above, before it was overwritten
    std::int16_t* row = line.data() + w;  // this row, edge repeated at both ends
    std::copy_n(plane.data(), w, above);
    for (int y = 0; y < height; ++y) {
      std::int16_t* here = plane.data() + static_cast<std::size_t>(y) * w;
      const std::int16_t* below = y + 1 < height ? here + w : here;
      for (std::size_t x = 0; x < w; ++x) {
        row[x + 1] = static_cast<std::int16_t>((above[x] + 2 * here[x] + below[x]) / 4);
        above[x] = here[x];
      }
      row[0] = row[1];
      row[w + 1] = row[w];
      for (std::size_t x = 0; x < w; ++x)
        here[x] = static_cast<std::int16_t>((row[x] + 2 * row[x + 1] + row[x + 2]) / 4);
    }
  }

  /// Noise of equal strength in every octave: doubled in size and refined, kOctaves times.
  void make_texture(Noise& noise, int roughness) {
    int w = 0, h = 0;
    for (int octave = kOctaves - 1; octave >= 0; --octave) {
      const int next_w = (width >> octave) + 2;
      const int next_h = (height >> octave) + 2;
      coarse.swap(texture);
      texture.resize(static_cast<std::size_t>(next_w) * static_cast<std::size_t>(next_h));
      // Full strength at large scales, less at the finest three: lenses are not perfect.
      const int gain = octave >= 3 ? 128 : 128 - (3 - octave) * (128 - roughness) / 3;
      double_and_refine(noise, gain, w, h, next_w, next_h);
      w = next_w;
      h = next_h;
    }
  }

  void double_and_refine(Noise& noise, int gain, int w, int h, int next_w, int next_h) {
    for (int y = 0; y < next_h; ++y) {
      std::int16_t* to =
          texture.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(next_w);
      const std::int16_t* top = nullptr;
      const std::int16_t* bottom = nullptr;
      if (w > 0) {
        top = coarse.data() +
              static_cast<std::size_t>(std::min(y / 2, h - 1)) * static_cast<std::size_t>(w);
        bottom = coarse.data() + static_cast<std::size_t>(std::min((y + 1) / 2, h - 1)) *
                                     static_cast<std::size_t>(w);
      }
      for (int x = 0; x < next_w; x += 2) {
        const std::uint64_t bits = noise.next();
        int even = 0, odd = 0;
        if (w > 0) {
          const int i = std::min(x / 2, w - 1), j = std::min(x / 2 + 1, w - 1);
          const int a = top[i] + bottom[i], b = top[j] + bottom[j];
          even = a / 2;
          odd = (a + b) / 4;
        }
        to[x] =
            static_cast<std::int16_t>(even + bell(static_cast<std::uint32_t>(bits)) * gain / 256);
        if (x + 1 < next_w)
          to[x + 1] = static_cast<std::int16_t>(odd + bell(static_cast<std::uint32_t>(bits >> 32)) *
                                                          gain / 256);
      }
    }
  }

  void develop(ImageSpan<std::uint8_t> out, Noise& noise, int contrast, int grain) const {
    const int texture_width = width + 2;
    for (int y = 0; y < height; ++y) {
      std::uint8_t* to = out.row(y);
      const std::int16_t* detail =
          texture.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(texture_width);
      std::uint64_t bits = 0;
      for (int x = 0; x < width; ++x, to += 3) {
        const std::size_t i = at(x, y);
        bits = x % 2 == 0 ? noise.next() : bits >> 32;
        const int amount = leaves[labels[i]].texture * contrast / 256;
        const int wave = detail[x] * amount / 64;
        const int speckle = bell(static_cast<std::uint32_t>(bits)) * grain / 148;
        const int luma = (planes[0][i] + wave + speckle) / kUnit;
        const int blue = (planes[1][i] - wave / 8) / kUnit,
                  red = (planes[2][i] + wave / 10) / kUnit;
        to[0] = to_byte(luma + red * 359 / 256);
        to[1] = to_byte(luma - (blue * 88 + red * 183) / 256);
        to[2] = to_byte(luma + blue * 454 / 256);
      }
    }
  }
};

PhotoSpec photo_spec(std::uint64_t seed, std::uint64_t index) {
  Rng rng({.seed = seed, .index = index, .stage = kPhotoSpecStage});
  // The long side is 500 for most, as web collections crop it; the short side varies around 375.
  constexpr std::array kShort = {333, 334, 375, 375, 375, 375, 376, 400, 357, 332};
  int width = rng.below(4) == 0 ? rng.between(440, 560) : 500;
  int height = kShort[rng.below(kShort.size())];
  if (rng.below(8) == 0) height = rng.between(300, 430);
  if (rng.below(10) < 3) std::swap(width, height);
  return {width, height, rng.between(85, 95)};
}

PhotoMaker::PhotoMaker() : state_(std::make_unique<State>()) {}
PhotoMaker::~PhotoMaker() = default;
PhotoMaker::PhotoMaker(PhotoMaker&&) noexcept = default;
PhotoMaker& PhotoMaker::operator=(PhotoMaker&&) noexcept = default;

Status PhotoMaker::make(Image& out, std::uint64_t seed, std::uint64_t index,
                        const PhotoSpec& spec) {
  constexpr int kLeast = 16, kMost = 16384;
  if (spec.width < kLeast || spec.height < kLeast || spec.width > kMost || spec.height > kMost)
    return Error{Errc::usage, fmt::format("a photograph of {}x{}: sides of {} to {} are accepted",
                                          spec.width, spec.height, kLeast, kMost)};
  SLUICE_CHECK(out.resize_for(spec.width, spec.height, 3));
  State& s = *state_;
  s.width = spec.width;
  s.height = spec.height;
  Rng rng({.seed = seed, .index = index, .stage = kPhotoSceneStage});
  Noise noise(Rng({.seed = seed, .index = index, .stage = kPhotoNoiseStage}).next_u64());
  const int roughness = rng.between(70, 128);
  const int contrast = rng.between(300, 900);
  const int grain = rng.between(kUnit / 2, 2 * kUnit);
  const int count = draw_scene(s.leaves, rng, spec.width, spec.height);
  s.paint_labels(count);
  s.make_texture(noise, roughness);
  s.warp_labels();
  s.shade();
  for (State::Plane& plane : s.planes)
    s.blur(plane);
  s.develop(out.span<std::uint8_t>(), noise, contrast, grain);
  return ok;
}

Status PhotoMaker::make_jpeg(std::vector<std::uint8_t>& out, std::uint64_t seed,
                             std::uint64_t index, const PhotoSpec& spec) {
  SLUICE_CHECK(make(state_->pixels, seed, index, spec));
  return encode_jpeg(out, state_->pixels.view<std::uint8_t>(), {.quality = spec.quality});
}

Result<Image> make_photo(std::uint64_t seed, std::uint64_t index) {
  Image image;
  SLUICE_CHECK(PhotoMaker().make(image, seed, index, photo_spec(seed, index)));
  return image;
}

}  // namespace sluice::image
