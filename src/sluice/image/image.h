// sluice/image/image.h - Image owns pixels, ImageView and ImageSpan look at them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace sluice::image {

enum class DType : std::uint8_t { u8, f32 };
const char* to_string(DType dtype);
constexpr std::size_t size_of(DType dtype) {
  return dtype == DType::u8 ? 1 : sizeof(float);
}

template <class T>
concept Sample = std::same_as<T, std::uint8_t> || std::same_as<T, float>;

/// Width and height are at most kMaxSide, channels at most kMaxChannels, so that row sizes fit an
/// int.
inline constexpr int kMaxSide = 1 << 20;
inline constexpr int kMaxChannels = 64;

/// Checks a geometry; `available_bytes` must hold height - 1 pitches and one full row.
Status check_geometry(int width, int height, int channels, std::size_t sample_bytes,
                      std::size_t pitch_bytes, std::size_t available_bytes);

/// Samples in rows of interleaved channels (HWC); rows are pitch_bytes() apart. Does not own; as
/// cheap to copy as a pointer. T is `const uint8_t`, `const float` (see ImageView) or mutable (see
/// ImageSpan).
template <class T>
class BasicView {
 public:
  using Value = std::remove_const_t<T>;
  static_assert(Sample<Value>);

  BasicView() = default;
  /// Precondition: the geometry is sound (what make() checks for memory that comes from elsewhere).
  BasicView(T* data, int width, int height, int channels, std::size_t pitch_bytes)
      : data_(data),
        width_(width),
        height_(height),
        channels_(channels),
        pitch_bytes_(pitch_bytes) {
    assert(width > 0 && height > 0 && channels > 0);
    assert(pitch_bytes >= row_bytes() && pitch_bytes % sizeof(T) == 0);
  }
  /// What can be written can be read.
  operator BasicView<const Value>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return data_ == nullptr
               ? BasicView<const Value>()
               : BasicView<const Value>(data_, width_, height_, channels_, pitch_bytes_);
  }

  /// `pitch_bytes` 0 means tightly packed rows.
  static Result<BasicView> make(std::span<T> memory, int width, int height, int channels,
                                std::size_t pitch_bytes = 0) {
    const auto tight = static_cast<std::size_t>(width > 0 && channels > 0 ? width : 0) *
                       static_cast<std::size_t>(channels > 0 ? channels : 0) * sizeof(T);
    if (pitch_bytes == 0) pitch_bytes = tight;
    SLUICE_CHECK(
        check_geometry(width, height, channels, sizeof(T), pitch_bytes, memory.size_bytes()));
    return BasicView(memory.data(), width, height, channels, pitch_bytes);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] std::size_t pitch_bytes() const { return pitch_bytes_; }
  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  /// Samples, and bytes, of one row without its padding.
  [[nodiscard]] std::size_t row_samples() const {
    return static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_);
  }
  [[nodiscard]] std::size_t row_bytes() const { return row_samples() * sizeof(T); }
  [[nodiscard]] std::size_t samples() const {
    return row_samples() * static_cast<std::size_t>(height_);
  }
  /// True when rows follow each other without a gap: all samples are one span.
  [[nodiscard]] bool contiguous() const { return pitch_bytes_ == row_bytes(); }

  [[nodiscard]] T* row(int y) const {
    assert(y >= 0 && y < height_);
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data_) +
                                static_cast<std::size_t>(y) * pitch_bytes_);
  }
  [[nodiscard]] T& at(int x, int y, int c) const {
    assert(x >= 0 && x < width_ && c >= 0 && c < channels_);
    return row(y)[static_cast<std::size_t>(x) * static_cast<std::size_t>(channels_) +
                  static_cast<std::size_t>(c)];
  }
  /// The part at (x, y); same memory. Precondition: it lies inside.
  [[nodiscard]] BasicView crop(int x, int y, int width, int height) const {
    assert(x >= 0 && y >= 0 && width > 0 && height > 0 && width <= width_ - x &&
           height <= height_ - y);
    return BasicView(&at(x, y, 0), width, height, channels_, pitch_bytes_);
  }

 private:
  T* data_ = nullptr;
  int width_ = 0;
  int height_ = 0;
  int channels_ = 0;
  std::size_t pitch_bytes_ = 0;
};

template <Sample T>
using ImageView = BasicView<const T>;
template <Sample T>
using ImageSpan = BasicView<T>;

template <class A, class B>
bool same_shape(const BasicView<A>& a, const BasicView<B>& b) {
  return a.width() == b.width() && a.height() == b.height() && a.channels() == b.channels();
}

/// Owns one image: HWC, u8 or f32, first sample at a multiple of kAlignment. Move-only; copies are
/// asked for (clone). resize_for keeps the memory when it is large enough, so an Image reused for a
/// stream of files stops allocating.
class Image {
 public:
  static constexpr std::size_t kAlignment = 64;

  Image() = default;
  ~Image();
  Image(Image&& other) noexcept;
  Image& operator=(Image&& other) noexcept;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  static Result<Image> make(int width, int height, int channels, DType dtype = DType::u8);
  /// Sets the geometry; the samples are then undefined. `pitch_bytes` 0 means tightly packed rows.
  /// On error (bad geometry, out of memory) the image is unchanged.
  Status resize_for(int width, int height, int channels, DType dtype = DType::u8,
                    std::size_t pitch_bytes = 0);
  [[nodiscard]] Result<Image> clone() const;

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::size_t pitch_bytes() const { return pitch_bytes_; }
  [[nodiscard]] bool empty() const { return width_ == 0; }
  [[nodiscard]] std::size_t capacity_bytes() const { return capacity_; }

  /// Precondition: not empty, and T is the sample type of dtype().
  template <Sample T>
  [[nodiscard]] ImageView<T> view() const {
    assert(!empty() && holds<T>());
    return {reinterpret_cast<const T*>(data_), width_, height_, channels_, pitch_bytes_};
  }
  template <Sample T>
  [[nodiscard]] ImageSpan<T> span() {
    assert(!empty() && holds<T>());
    return {reinterpret_cast<T*>(data_), width_, height_, channels_, pitch_bytes_};
  }
  template <Sample T>
  [[nodiscard]] bool holds() const {
    return (dtype_ == DType::u8) == std::same_as<T, std::uint8_t>;
  }

 private:
  void swap(Image& other) noexcept;

  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t pitch_bytes_ = 0;
  int width_ = 0;
  int height_ = 0;
  int channels_ = 0;
  DType dtype_ = DType::u8;
};

}  // namespace sluice::image
