// sluice/image/image.cpp - Image owns pixels, ImageView and ImageSpan look at them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/image.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace sluice::image {

const char* to_string(DType dtype) {
  return dtype == DType::u8 ? "u8" : "f32";
}

Status check_geometry(int width, int height, int channels, std::size_t sample_bytes,
                      std::size_t pitch_bytes, std::size_t available_bytes) {
  if (width < 1 || width > kMaxSide || height < 1 || height > kMaxSide)
    return Error{
        Errc::invalid_input,
        fmt::format("image of {}x{}: width and height must be 1 to {}", width, height, kMaxSide)};
  if (channels < 1 || channels > kMaxChannels)
    return Error{Errc::invalid_input,
                 fmt::format("image of {} channels: 1 to {} are accepted", channels, kMaxChannels)};
  const std::size_t row =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(channels) * sample_bytes;
  if (pitch_bytes < row || pitch_bytes % sample_bytes != 0)
    return Error{Errc::invalid_input,
                 fmt::format("row pitch of {} bytes: a multiple of {}, at least {}, is accepted",
                             pitch_bytes, sample_bytes, row)};
  const auto gaps = static_cast<std::size_t>(height - 1);
  if (gaps > 0 && pitch_bytes > (std::numeric_limits<std::size_t>::max() / 2 - row) / gaps)
    return Error{Errc::invalid_input, fmt::format("row pitch of {} bytes is too large for {} rows",
                                                  pitch_bytes, height)};
  const std::size_t needed = gaps * pitch_bytes + row;
  if (available_bytes < needed)
    return Error{Errc::invalid_input,
                 fmt::format("image of {}x{}x{} needs {} bytes, {} are there", width, height,
                             channels, needed, available_bytes)};
  return ok;
}

Image::~Image() {
  ::operator delete (data_, std::align_val_t{kAlignment});
}

Image::Image(Image&& other) noexcept {
  swap(other);
}

Image& Image::operator=(Image&& other) noexcept {
  Image taken(std::move(other));
  swap(taken);
  return *this;
}

void Image::swap(Image& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(pitch_bytes_, other.pitch_bytes_);
  std::swap(width_, other.width_);
  std::swap(height_, other.height_);
  std::swap(channels_, other.channels_);
  std::swap(dtype_, other.dtype_);
}

Result<Image> Image::make(int width, int height, int channels, DType dtype) {
  Image image;
  SLUICE_CHECK(image.resize_for(width, height, channels, dtype));
  return image;
}

Status Image::resize_for(int width, int height, int channels, DType dtype,
                         std::size_t pitch_bytes) {
  if (pitch_bytes == 0 && width > 0 && channels > 0)
    pitch_bytes =
        static_cast<std::size_t>(width) * static_cast<std::size_t>(channels) * size_of(dtype);
  SLUICE_CHECK(check_geometry(width, height, channels, size_of(dtype), pitch_bytes,
                              std::numeric_limits<std::size_t>::max()));
  const std::size_t needed = pitch_bytes * static_cast<std::size_t>(height);
  if (needed > capacity_) {
    const std::size_t rounded = (needed + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = ::operator new (rounded, std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr)
      return Error{Errc::io, fmt::format("out of memory: an image of {}x{}x{} needs {} bytes",
                                         width, height, channels, needed)};
    ::operator delete (data_, std::align_val_t{kAlignment});
    data_ = static_cast<std::byte*>(memory);
    capacity_ = rounded;
  }
  width_ = width;
  height_ = height;
  channels_ = channels;
  dtype_ = dtype;
  pitch_bytes_ = pitch_bytes;
  return ok;
}

Result<Image> Image::clone() const {
  Image copy;
  if (empty()) return copy;
  SLUICE_CHECK(copy.resize_for(width_, height_, channels_, dtype_));
  for (int y = 0; y < height_; ++y)
    std::memcpy(copy.data_ + static_cast<std::size_t>(y) * copy.pitch_bytes_,
                data_ + static_cast<std::size_t>(y) * pitch_bytes_, copy.pitch_bytes_);
  return copy;
}

}  // namespace sluice::image
