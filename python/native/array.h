// python/native/array.h - memory of ours as an array of numpy, torch or jax.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <span>
#include <string_view>

namespace sluice::python {

namespace nb = nanobind;

/// Whose arrays are given out. All take the memory by DLPack or as a buffer. numpy and torch do not
/// copy it; jax does unless it begins at a multiple of 64 bytes, and makes 64-bit integers 32-bit
/// ones unless jax_enable_x64 is set.
/// dlpack: objects of ours (exchange.h), which torch, jax and cupy take.
enum class Tensors : std::uint8_t { numpy, torch, jax, dlpack };
Result<Tensors> parse_tensors(std::string_view text);

enum class Where : std::uint8_t { host, pinned, device };

/// `owner` is kept until the array and whatever was made of it are gone. Of memory on a device it
/// is a loader::gpu::Arrival, and numpy cannot have it.
struct Memory {
  void* data = nullptr;
  std::span<const std::size_t> shape;
  nb::dlpack::dtype dtype;
  std::shared_ptr<void> owner;
  Where where = Where::host;
};
/// With the interpreter's lock held.
nb::object array_of(Memory memory, Tensors tensors);

/// H x W x C of numpy.
nb::object array_of(image::Image&& image);
/// The same of the frames of a clip, T x H x W x C: copied into one piece.
nb::object array_of_frames(std::span<const image::Image> frames);

}  // namespace sluice::python
