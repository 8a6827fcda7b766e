// sluice/aug/transform.h - what every transform is: parameters, a draw, and applying the draw.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/scratch.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/core/rng.h"
#include "sluice/image/image.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::aug {

using image::DType;
using image::ImageSpan;
using image::ImageView;

struct Shape {
  int width = 0;
  int height = 0;
  int channels = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

template <class T>
Shape shape_of(const image::BasicView<T>& view) {
  return {view.width(), view.height(), view.channels()};
}

/// The largest sample: f32 images hold 0 to 1, as in AlbumentationsX.
template <image::Sample T>
inline constexpr T kMaxSample = std::same_as<T, float> ? T{1} : T{255};

/// What `sample` drew, as plain bytes: copied freely, printed and read back by its transform.
class Draw {
 public:
  static constexpr std::size_t kBytes = 1024;

  Draw() = default;
  template <class D>
  static Draw of(const D& value) {
    static_assert(std::is_trivially_copyable_v<D> && sizeof(D) <= kBytes);
    Draw draw;
    std::memcpy(draw.bytes_.data(), &value, sizeof(D));
    draw.type_ = &kTypeOf<D>;
    return draw;
  }
  /// Precondition: it was made of a D.
  template <class D>
  [[nodiscard]] const D& as() const {
    assert(type_ == &kTypeOf<D>);
    return *reinterpret_cast<const D*>(bytes_.data());
  }

 private:
  template <class D>
  static constexpr char kTypeOf = 0;

  alignas(16) std::array<std::byte, kBytes> bytes_{};
  const char* type_ = nullptr;
};

/// An image, or the frames of a clip: all get the same draw, independent of their number. dst[i] is
/// made from src[i]; frames of one call have one shape.
template <image::Sample From, image::Sample To = From>
struct Frames {
  std::span<const ImageSpan<To>> dst;
  std::span<const ImageView<From>> src;
  [[nodiscard]] std::size_t size() const { return src.size(); }
};

/// How far a fast path may be from its reference, and why that is not 0.
struct Tolerance {
  double max = 0;       // u8: levels; f32: absolute, samples being 0 to 1
  double outliers = 0;  // share of samples that may be farther off (a nearest neighbour at a tie)
  std::string_view reason{};
};

/// How the output is compared with AlbumentationsX, given the same draw.
enum class Parity : std::uint8_t {
  equal,
  pointwise,  // at most 1 level
  nearest,    // at most 1 % of the pixels differ
  smooth,     // 99.9th percentile at most 3 levels, mean at most 0.5
  property,   // draws cannot be matched: distribution and properties are tested
};
const char* to_string(Parity parity);

enum class ChannelRule : std::uint8_t { any, rgb };

class Transform;

/// The record of one transform: tests, benchmark, documents and configuration all read it.
struct TransformSpec {
  std::string name;  // as in the paper sets
  std::string doc;   // the definition, in a sentence or two
  Parity parity = Parity::property;
  Tolerance u8{};
  Tolerance f32{};
  ChannelRule channels = ChannelRule::any;
  bool in_place = false;   // dst may be src
  bool makes_f32 = false;  // u8 becomes f32 (Normalize)
  bool draws = false;      // parameters are drawn anew for each item
  struct Parameter {
    std::string name, accepted, doc;
  };
  std::vector<Parameter> parameters{};
  Json defaults{};  // the values of the paper
  /// Unknown names and values out of range are errors; what is not named has its default.
  std::function<Result<std::unique_ptr<Transform>>(const Json& parameters)> make{};
};

/// A transform with its parameters. Immutable: one serves any number of threads, each with a
/// Scratch.
class Transform {
 public:
  virtual ~Transform() = default;
  [[nodiscard]] virtual const TransformSpec& spec() const = 0;
  [[nodiscard]] virtual Json parameters() const = 0;

  [[nodiscard]] virtual Draw sample(Rng& rng, Shape input) const = 0;
  [[nodiscard]] virtual Json to_json(const Draw& draw) const = 0;
  [[nodiscard]] virtual Result<Draw> draw_from_json(const Json& json) const = 0;
  [[nodiscard]] virtual Shape output_shape(Shape input, const Draw& draw) const = 0;

  /// Checks the shapes, then runs the fast path. `dst` must have output_shape(); it overlaps `src`
  /// only where spec().in_place, and then exactly.
  Status apply(const Frames<std::uint8_t>& frames, const Draw& draw, Scratch& scratch) const;
  Status apply(const Frames<float>& frames, const Draw& draw, Scratch& scratch) const;
  /// Only where spec().makes_f32.
  Status apply(const Frames<std::uint8_t, float>& frames, const Draw& draw, Scratch& scratch) const;

  /// The definition: slow, plain, may allocate.
  Status apply_reference(const Frames<std::uint8_t>& frames, const Draw& draw) const;
  Status apply_reference(const Frames<float>& frames, const Draw& draw) const;
  Status apply_reference(const Frames<std::uint8_t, float>& frames, const Draw& draw) const;

 protected:
  /// The draw suits an image of this shape (a replayed one may not).
  [[nodiscard]] virtual Status fits(Shape input, const Draw& draw) const = 0;
  virtual void run(const Frames<std::uint8_t>&, const Draw&, Scratch&) const = 0;
  virtual void run(const Frames<float>&, const Draw&, Scratch&) const = 0;
  virtual void run(const Frames<std::uint8_t, float>&, const Draw&, Scratch&) const = 0;
  virtual void run_reference(const Frames<std::uint8_t>&, const Draw&) const = 0;
  virtual void run_reference(const Frames<float>&, const Draw&) const = 0;
  virtual void run_reference(const Frames<std::uint8_t, float>&, const Draw&) const = 0;

 private:
  template <class From, class To>
  Status check(const Frames<From, To>& frames, const Draw& draw) const;
};

}  // namespace sluice::aug
