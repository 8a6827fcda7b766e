// python/native/array.cpp - DLPack tensors over memory that a C++ object owns.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/array.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include "python/native/exchange.h"
#include <array>
#include <cstring>
#include <utility>

namespace sluice::python {
namespace {

nb::capsule capsule_of(std::shared_ptr<void> owner) {
  return nb::capsule(new std::shared_ptr<void>(std::move(owner)),
                     [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); });
}

template <class Framework>
nb::object made(const Memory& memory, const nb::capsule& owner) {
  return nb::cast(
      nb::ndarray<Framework, nb::device::cpu>(memory.data, memory.shape.size(), memory.shape.data(),
                                              owner, nullptr, memory.dtype),
      nb::rv_policy::reference);
}

nb::dlpack::dtype dtype_of(image::DType dtype) {
  return dtype == image::DType::u8 ? nb::dtype<std::uint8_t>() : nb::dtype<float>();
}

}  // namespace

Result<Tensors> parse_tensors(std::string_view text) {
  if (text == "numpy") return Tensors::numpy;
  if (text == "torch") return Tensors::torch;
  if (text == "jax") return Tensors::jax;
  if (text == "dlpack") return Tensors::dlpack;
  return usage_error(fmt::format("tensors is '{}'; accepted: numpy, torch, jax, dlpack",
                                 printable(std::string(text))));
}

nb::object array_of(Memory memory, Tensors tensors) {
  if (tensors == Tensors::dlpack || memory.where == Where::device)
    return exchanged(std::move(memory), tensors);
  const nb::capsule owner = capsule_of(std::move(memory.owner));
  switch (tensors) {
    case Tensors::torch:
      return made<nb::pytorch>(memory, owner);
    case Tensors::jax:
      return made<nb::jax>(memory, owner);
    default:
      break;
  }
  return made<nb::numpy>(memory, owner);
}

nb::object array_of(image::Image&& image) {
  const auto held = std::make_shared<image::Image>(std::move(image));
  const std::array<std::size_t, 3> shape{static_cast<std::size_t>(held->height()),
                                         static_cast<std::size_t>(held->width()),
                                         static_cast<std::size_t>(held->channels())};
  void* data = held->dtype() == image::DType::u8
                   ? static_cast<void*>(held->span<std::uint8_t>().data())
                   : static_cast<void*>(held->span<float>().data());
  return array_of({data, shape, dtype_of(held->dtype()), held}, Tensors::numpy);
}

nb::object array_of_frames(std::span<const image::Image> frames) {
  const image::Image& first = frames[0];
  const auto bytes_of = [](const image::Image& one) {
    return one.dtype() == image::DType::u8
               ? static_cast<const void*>(one.view<std::uint8_t>().data())
               : static_cast<const void*>(one.view<float>().data());
  };
  const std::size_t bytes = first.pitch_bytes() * static_cast<std::size_t>(first.height());
  const auto held = std::make_shared<std::unique_ptr<std::byte[]>>(
      std::make_unique_for_overwrite<std::byte[]>(bytes * frames.size()));
  for (std::size_t i = 0; i < frames.size(); ++i)
    std::memcpy(held->get() + i * bytes, bytes_of(frames[i]), bytes);
  const std::array<std::size_t, 4> shape{frames.size(), static_cast<std::size_t>(first.height()),
                                         static_cast<std::size_t>(first.width()),
                                         static_cast<std::size_t>(first.channels())};
  return array_of({held->get(), shape, dtype_of(first.dtype()), held}, Tensors::numpy);
}

}  // namespace sluice::python
