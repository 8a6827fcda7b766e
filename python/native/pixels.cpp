// python/native/pixels.cpp - checks type, shape and strides of an array.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/pixels.h"

#include "sluice/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "python/native/raise.h"
#include <nanobind/stl/string.h>
#include <span>
#include <string>

namespace sluice::python {
namespace {

using image::ImageView;

std::string shape_text(const nb::ndarray<nb::ro>& array) {
  return fmt::format("({})", fmt::join(std::span(array.shape_ptr(), array.ndim()), ", "));
}

/// "int8", "bool", "torch.int16"; of an array that does not say, its bits.
std::string type_text(nb::handle object, const nb::ndarray<nb::ro>& array) {
  if (!nb::hasattr(object, "dtype")) return fmt::format("{} bits", array.dtype().bits);
  const nb::object dtype = object.attr("dtype");
  const nb::object text = nb::steal(PyObject_Str(dtype.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return printable(nb::cast<std::string>(text));
}

/// Channels and pixels without a gap, rows one after another.
bool is_regular(const nb::ndarray<nb::ro>& array) {
  const std::size_t last = array.ndim() - 1;
  const auto channels = static_cast<std::int64_t>(array.shape(last));
  const auto width = static_cast<std::int64_t>(array.shape(last - 1));
  return array.stride(last) == 1 && array.stride(last - 1) == channels &&
         array.stride(last - 2) >= width * channels;
}

template <class T>
void add_views(std::vector<ImageView<T>>& out, const nb::ndarray<nb::ro>& array) {
  const std::size_t last = array.ndim() - 1;
  const bool clip = last == 3;
  const std::size_t frames = clip ? array.shape(0) : 1;
  const auto pitch = static_cast<std::size_t>(array.stride(last - 2)) * sizeof(T);
  const int height = static_cast<int>(array.shape(last - 2));
  const int width = static_cast<int>(array.shape(last - 1));
  const int channels = static_cast<int>(array.shape(last));
  const std::size_t samples = static_cast<std::size_t>(height - 1) * (pitch / sizeof(T)) +
                              static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  out.reserve(frames);
  for (std::size_t i = 0; i < frames; ++i) {
    const T* data = static_cast<const T*>(array.data()) +
                    (clip ? array.stride(0) : 0) * static_cast<std::int64_t>(i);
    out.push_back(value_or_raise(
        ImageView<T>::make(std::span(data, samples), width, height, channels, pitch)));
  }
}

}  // namespace

Pixels pixels_of(nb::handle object) {
  Pixels pixels;
  if (!nb::try_cast(object, pixels.array, false)) {
    PyErr_SetString(PyExc_TypeError,
                    fmt::format("the image is a {}; accepted: an array of uint8 or float32",
                                nb::str(object.type().attr("__name__")).c_str())
                        .c_str());
    throw nb::python_error();
  }
  const bool is_u8 = pixels.array.dtype() == nb::dtype<std::uint8_t>();
  if (!is_u8 && pixels.array.dtype() != nb::dtype<float>())
    raise({Errc::usage, fmt::format("the image is an array of {}; accepted: uint8, float32",
                                    type_text(object, pixels.array))});
  const std::size_t dimensions = pixels.array.ndim();
  bool empty = pixels.array.device_type() != nb::device::cpu::value;
  for (std::size_t i = 0; i < dimensions; ++i)
    empty = empty || pixels.array.shape(i) == 0 ||
            pixels.array.shape(i) > static_cast<std::size_t>(image::kMaxSide);
  if ((dimensions != 3 && dimensions != 4) || empty)
    raise({Errc::usage, fmt::format("the image has shape {}; accepted: (height, width, channels) "
                                    "or (frames, height, width, channels), in memory of the CPU",
                                    shape_text(pixels.array))});
  if (!is_regular(pixels.array)) {
    const nb::object tight = nb::module_::import_("numpy").attr("ascontiguousarray")(object);
    pixels.array = nb::cast<nb::ndarray<nb::ro>>(tight);
  }
  pixels.clip = dimensions == 4;
  pixels.dtype = is_u8 ? image::DType::u8 : image::DType::f32;
  if (is_u8)
    add_views(pixels.u8, pixels.array);
  else
    add_views(pixels.f32, pixels.array);
  return pixels;
}

}  // namespace sluice::python
