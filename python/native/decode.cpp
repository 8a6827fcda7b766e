// python/native/decode.cpp - encoded images to arrays.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include "python/native/array.h"
#include "python/native/bindings.h"
#include "python/native/raise.h"
#include <array>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>

namespace sluice::python {
namespace {

/// The bytes of anything that has the buffer protocol, while it lives.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] image::Bytes bytes() const {
    return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

image::Decoder& own_decoder() {
  thread_local image::Decoder decoder;
  return decoder;
}

nb::object decode(nb::handle data, bool exif, bool allow_truncated,
                  const std::optional<std::array<int, 4>>& region) {
  const Buffer buffer(data);
  image::DecodeOptions options;
  options.exif = exif;
  options.allow_truncated = allow_truncated;
  image::Image out;
  const Status done = [&] {
    nb::gil_scoped_release others_may_run;
    if (!region) return own_decoder().decode(out, buffer.bytes(), options);
    const auto& [x, y, width, height] = *region;
    return own_decoder().decode_region(out, buffer.bytes(), {x, y, width, height}, options);
  }();
  check_or_raise(done);
  return array_of(std::move(out));
}

}  // namespace

void bind_decode(nb::module_& module) {
  module.def("decode", decode);
}

}  // namespace sluice::python
