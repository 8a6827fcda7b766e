// python/native/exchange.cpp - DLPack with streams: the consumer's goes on when a copy has run.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/exchange.h"

#include "sluice/loader/gpu/copy_feed.h"

#include <fmt/format.h>

#include "python/native/bindings.h"
#include "python/native/raise.h"
#include <cstdint>
#include <memory>
#include <nanobind/stl/string.h>
#include <string>
#include <utility>
#include <vector>

namespace sluice::python {
namespace {

using loader::gpu::Arrival;

// Kinds of devices and streams, as DLPack numbers them.
constexpr int kHost = 1;
constexpr int kDevice = 2;
constexpr int kPinned = 3;
constexpr std::int64_t kDefaultStream = 1;  // as CUDA always had it; 2: a thread's own
constexpr std::int64_t kNoStream = -1;
constexpr const char* kCapsule = "dltensor";

/// DLManagedTensor of DLPack 0.x, which every consumer takes.
struct Managed {
  nb::dlpack::dltensor tensor{};
  void* context = nullptr;
  void (*deleter)(Managed*) = nullptr;
};

struct Exported {
  Managed managed;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::shared_ptr<void> owner;
};

void forget(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kCapsule) == 0) return;  // somebody took it, and will forget it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsule));
  managed->deleter(managed);
}

[[noreturn]] void refuse(PyObject* kind, const std::string& text) {
  PyErr_SetString(kind, text.c_str());
  throw nb::python_error();
}

class Array {
 public:
  explicit Array(Memory memory)
      : owner_(std::move(memory.owner)),
        data_(memory.data),
        shape_(memory.shape.begin(), memory.shape.end()),
        dtype_(memory.dtype),
        where_(memory.where) {}

  [[nodiscard]] std::string device() const {
    return where_ == Where::device ? fmt::format("cuda:{}", arrival().device()) : "cpu";
  }
  [[nodiscard]] nb::tuple dlpack_device() const {
    if (where_ == Where::device) return nb::make_tuple(kDevice, arrival().device());
    return nb::make_tuple(where_ == Where::pinned ? kPinned : kHost, 0);
  }
  [[nodiscard]] std::string dtype() const {
    using Code = nb::dlpack::dtype_code;
    const char* name = "int";
    if (dtype_.code == static_cast<std::uint8_t>(Code::UInt)) name = "uint";
    if (dtype_.code == static_cast<std::uint8_t>(Code::Float)) name = "float";
    if (dtype_.code == static_cast<std::uint8_t>(Code::Bfloat)) name = "bfloat";
    return fmt::format("{}{}", name, dtype_.bits);
  }
  [[nodiscard]] nb::tuple shape() const {
    nb::list sizes;
    for (const std::size_t one : shape_)
      sizes.append(one);
    return nb::tuple(sizes);
  }
  [[nodiscard]] std::size_t length() const { return shape_.at(0); }
  [[nodiscard]] std::string text() const {
    return fmt::format("<sluice.Array of {} on {}>", dtype(), device());
  }

  /// https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
  [[nodiscard]] nb::object dlpack(const nb::object& stream, const nb::object& /*max_version*/,
                                  const nb::object& wanted, const nb::object& copy) const {
    nb::tuple device_of = dlpack_device();
    const nb::tuple host = nb::make_tuple(kHost, 0);
    if (where_ == Where::pinned && wanted.equal(host))
      device_of = host;  // for who knows no other kind
    if (!wanted.is_none() && !wanted.equal(device_of))
      refuse(PyExc_BufferError, fmt::format("an array on {} is asked for on another device; "
                                            "accepted: its own, or .to('cpu')",
                                            device()));
    if (!copy.is_none() && nb::cast<bool>(copy))
      refuse(PyExc_BufferError, "a copy is asked for; accepted: none, or .to('cpu')");
    if (where_ == Where::device) hold(stream);
    auto exported = std::make_unique<Exported>();
    exported->owner = owner_;
    exported->shape.assign(shape_.begin(), shape_.end());
    exported->strides.assign(shape_.size(), 1);
    for (std::size_t i = shape_.size() - 1; i > 0; --i)
      exported->strides[i - 1] = exported->strides[i] * exported->shape[i];
    nb::dlpack::dltensor& tensor = exported->managed.tensor;
    tensor.data = data_;
    tensor.device.device_type = nb::cast<int>(device_of[0]);
    tensor.device.device_id = nb::cast<int>(device_of[1]);
    tensor.ndim = static_cast<std::int32_t>(shape_.size());
    tensor.dtype = dtype_;
    tensor.shape = exported->shape.data();
    tensor.strides = exported->strides.data();
    exported->managed.context = exported.get();
    exported->managed.deleter = [](Managed* managed) {
      delete static_cast<Exported*>(managed->context);
    };
    PyObject* capsule = PyCapsule_New(&exported->managed, kCapsule, forget);
    if (capsule == nullptr) throw nb::python_error();
    (void)exported.release();
    return nb::steal<nb::object>(capsule);
  }

  /// An array of numpy: a copy of memory on a device.
  [[nodiscard]] nb::object to(const std::string& device) const {
    if (device != "cpu")
      refuse(PyExc_ValueError, fmt::format("device is '{}'; accepted: cpu", device));
    if (where_ != Where::device) return array_of({data_, shape_, dtype_, owner_}, Tensors::numpy);
    std::size_t bytes = dtype_.bits / 8U;
    for (const std::size_t one : shape_)
      bytes *= one;
    auto host = std::make_shared<std::vector<std::byte>>(bytes);
    const Status done = [&] {
      nb::gil_scoped_release others_may_run;
      return arrival().download(*host, data_);
    }();
    check_or_raise(done);
    return array_of({host->data(), shape_, dtype_, host}, Tensors::numpy);
  }

  /// What numpy asks for.
  [[nodiscard]] nb::object array(const nb::object& dtype, const nb::object& copy) const {
    if (where_ == Where::device)
      refuse(PyExc_TypeError,
             fmt::format("an array on {} is none of numpy; accepted: .to('cpu'), or a Loader with "
                         "device='cpu'",
                         device()));
    nb::object view = to("cpu");
    if (!dtype.is_none()) view = view.attr("astype")(dtype);
    return !copy.is_none() && nb::cast<bool>(copy) ? view.attr("copy")() : view;
  }

 private:
  [[nodiscard]] const Arrival& arrival() const {
    return *static_cast<const Arrival*>(owner_.get());
  }

  void hold(const nb::object& stream) const {
    std::int64_t number = kDefaultStream;
    if (!stream.is_none() && !nb::try_cast(stream, number))
      refuse(PyExc_TypeError, "stream is no whole number; accepted: None, -1, 1, 2 or a handle");
    if (number == kNoStream) return;
    if (number < kDefaultStream)
      refuse(PyExc_ValueError,
             fmt::format("stream is {}; accepted: None, -1, 1, 2 or a handle", number));
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    check_or_raise(arrival().hold(reinterpret_cast<void*>(number)));
  }

  std::shared_ptr<void> owner_;
  void* data_;
  std::vector<std::size_t> shape_;
  nb::dlpack::dtype dtype_;
  Where where_;
};

}  // namespace

nb::object exchanged(Memory memory, Tensors tensors) {
  nb::object array = nb::cast(Array(std::move(memory)));
  if (tensors == Tensors::torch) return nb::module_::import_("torch").attr("from_dlpack")(array);
  if (tensors == Tensors::jax) return nb::module_::import_("jax.dlpack").attr("from_dlpack")(array);
  return array;
}

void bind_exchange(nb::module_& module) {
  nb::class_<Array>(module, "Array")
      .def("__dlpack__", &Array::dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__", &Array::dlpack_device)
      .def("__array__", &Array::array, nb::arg("dtype").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__len__", &Array::length)
      .def("__repr__", &Array::text)
      .def("to", &Array::to, nb::arg("device"))
      .def_prop_ro("shape", &Array::shape)
      .def_prop_ro("dtype", &Array::dtype)
      .def_prop_ro("device", &Array::device);
}

}  // namespace sluice::python
