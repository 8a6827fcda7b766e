// python/native/function.cpp - arrays into a function of Python, and its result back.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/function.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include "python/native/array.h"
#include <array>
#include <chrono>
#include <cstring>
#include <nanobind/ndarray.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sluice::python {
namespace {

using image::DType;
using image::Image;

constexpr std::size_t kChannels = 3;
constexpr std::size_t kLongestReason = 300;  // letters of an exception's text in our one line

thread_local const Function* running = nullptr;

/// Loaders of this process whose workers may call.
struct Callers {
  std::atomic<int> process{0}, count{0};
  std::atomic<int>& of(int now) {
    if (process.exchange(now) != now) count = 0;  // those of the process that we were forked from
    return count;
  }
};
Callers callers;
constexpr std::chrono::milliseconds kLook{1};
constexpr int kLooks = 10'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* name_of(DType dtype) {
  return dtype == DType::u8 ? "uint8" : "float32";
}

void* data_of(Image& image) {
  return image.dtype() == DType::u8 ? static_cast<void*>(image.span<std::uint8_t>().data())
                                    : static_cast<void*>(image.span<float>().data());
}

nb::object lent(const std::shared_ptr<Image>& image) {
  const std::array<std::size_t, 3> shape{static_cast<std::size_t>(image->height()),
                                         static_cast<std::size_t>(image->width()),
                                         static_cast<std::size_t>(image->channels())};
  const auto dtype = image->dtype() == DType::u8 ? nb::dtype<std::uint8_t>() : nb::dtype<float>();
  return array_of({data_of(*image), shape, dtype, image}, Tensors::numpy);
}

/// "(32, 32) float64", or what else it is.
std::string described(nb::handle made) {
  if (nb::hasattr(made, "shape") && nb::hasattr(made, "dtype"))
    return fmt::format("{} {}", nb::str(nb::handle(nb::object(made.attr("shape")))).c_str(),
                       nb::str(nb::handle(nb::object(made.attr("dtype")))).c_str());
  return fmt::format("a {}", nb::str(made.type().attr("__name__")).c_str());
}

bool is_tight(const nb::ndarray<nb::ro>& array) {
  std::int64_t step = 1;
  for (std::size_t i = array.ndim(); i-- > 0; step *= static_cast<std::int64_t>(array.shape(i)))
    if (array.stride(i) != step && array.shape(i) != 1) return false;
  return true;
}

}  // namespace

Function::Function(nb::object callable, const Json& description)
    : callable_(std::move(callable)),
      name_(description.at("name").get<std::string>()),
      dtype_(description.at("dtype") == "uint8" ? DType::u8 : DType::f32),
      keyed_(description.at("keyed").get<bool>()) {
  const Json& shape = description.at("shape");
  if (!shape.is_null()) declared_ = Size{shape.at(0).get<int>(), shape.at(1).get<int>()};
}

Function::~Function() {
  if (!nb::is_alive()) {  // the interpreter is gone, and took all objects with it
    (void)callable_.release();
    for (auto& [line, raised] : raised_)
      (void)raised.exception.release();
    return;
  }
  nb::gil_scoped_acquire lock;
  let_go();
}

int Function::traverse(visitproc visit, void* arg) const {
  Py_VISIT(callable_.ptr());
  for (const auto& [line, raised] : raised_)
    Py_VISIT(raised.exception.ptr());
  return 0;
}

void Function::let_go() {
  const nb::object callable = std::move(callable_);  // what goes with them may come back here
  const auto raised = std::exchange(raised_, {});
}

bool Function::runs_here() const {
  return running == this;
}

Status Function::call(Image& out, std::shared_ptr<Image>& given, std::optional<Size> wanted,
                      const loader::SampleKey& key, const loader::Dataset& dataset) {
  const std::int64_t asked_ns = now_ns();
  nb::gil_scoped_acquire lock;
  const std::int64_t began_ns = now_ns();
  const Function* outer = std::exchange(running, this);
  Status done = call_locked(out, given, wanted, key, dataset);
  running = outer;
  if (given.use_count() > 1) given = std::make_shared<Image>();  // somebody keeps the array
  calls_.fetch_add(1);
  lock_wait_ns_.fetch_add(began_ns - asked_ns);
  busy_ns_.fetch_add(now_ns() - began_ns);
  return done;
}

Status Function::call_locked(Image& out, const std::shared_ptr<Image>& given,
                             std::optional<Size> wanted, const loader::SampleKey& key,
                             const loader::Dataset& dataset) {
  const Size size = declared_ ? *declared_
                    : wanted  ? *wanted
                              : Size{given->height(), given->width()};
  try {
    const nb::object callable = callable_;  // the collector sees that it is in use
    return take(out,
                keyed_ ? callable(lent(given), nb::make_tuple(key.seed, key.epoch, key.index))
                       : callable(lent(given)),
                size);
  } catch (nb::python_error& error) {
    std::string reason = nb::str(error.type().attr("__name__")).c_str();
    try {
      reason += fmt::format(": {}", nb::str(error.value()).c_str());
    } catch (nb::python_error&) {  // its own text raises
    }
    reason = printable(reason.substr(0, kLongestReason));
    Error found{Errc::internal, fmt::format("the function {} raised {}", name_, reason)};
    // As the worker will write it (loader/worker.cpp): the key under which it is found again.
    keep(fmt::format("{}: {}", printable(dataset.name(key.index)), found.message),
         {nb::borrow(error.value()), key.epoch});
    return found;
  }
}

/// The first of an epoch are those that somebody will wait for.
void Function::keep(std::string line, Raised raised) {
  if (raised_.size() >= kKept)
    std::erase_if(raised_, [&](const auto& one) { return one.second.epoch != raised.epoch; });
  if (raised_.size() < kKept) raised_.insert_or_assign(std::move(line), std::move(raised));
}

Status Function::take(Image& out, nb::object made, Size wanted) const {
  nb::ndarray<nb::ro> array;
  const std::array<std::size_t, 3> shape{static_cast<std::size_t>(wanted.height),
                                         static_cast<std::size_t>(wanted.width), kChannels};
  bool fits =
      nb::try_cast(made, array, false) && array.ndim() == shape.size() &&
      array.device_type() == nb::device::cpu::value &&
      array.dtype() == (dtype_ == DType::u8 ? nb::dtype<std::uint8_t>() : nb::dtype<float>());
  for (std::size_t i = 0; fits && i < shape.size(); ++i)
    fits = array.shape(i) == shape[i];
  if (!fits)
    return usage_error(
        fmt::format("the function {} returned {}; accepted: an array of ({}, {}, 3) {}", name_,
                    printable(described(made)), wanted.height, wanted.width, name_of(dtype_)));
  if (!is_tight(array)) {
    made = nb::module_::import_("numpy").attr("ascontiguousarray")(made);
    array = nb::cast<nb::ndarray<nb::ro>>(made);
  }
  SLUICE_CHECK(out.resize_for(wanted.width, wanted.height, static_cast<int>(kChannels), dtype_));
  std::memcpy(data_of(out), array.data(), array.nbytes());
  return ok;
}

void Function::raise_cause_of(const Error& error) {
  const auto found = raised_.find(error.message);
  if (found == raised_.end()) return;
  const nb::object cause = std::move(found->second.exception);
  raised_.erase(found);
  if (!nb::isinstance(cause, nb::handle(PyExc_Exception))) {  // Ctrl-C, sys.exit(): as they are
    PyErr_SetObject(cause.type().ptr(), cause.ptr());
    throw nb::python_error();
  }
  const nb::object line = nb::handle(PyExc_RuntimeError)(error.message.c_str());
  PyException_SetCause(line.ptr(), nb::object(cause).release().ptr());
  PyErr_SetObject(PyExc_RuntimeError, line.ptr());
  throw nb::python_error();
}

Json Function::cost(std::int64_t all_ns) const {
  const std::uint64_t calls = calls_.load();
  const std::int64_t busy_ns = busy_ns_.load(), wait_ns = lock_wait_ns_.load();
  Json json{{"name", name_},           {"calls", calls},     {"busy_ns", busy_ns},
            {"lock_wait_ns", wait_ns}, {"mean_ns", nullptr}, {"share", nullptr}};
  if (calls > 0) json["mean_ns"] = static_cast<double>(busy_ns) / static_cast<double>(calls);
  if (all_ns > 0)
    json["share"] = static_cast<double>(busy_ns + wait_ns) / static_cast<double>(all_ns);
  return json;
}

CallsPython::CallsPython() : process_(::getpid()) {
  callers.of(process_).fetch_add(1);
}

CallsPython::~CallsPython() {
  if (process_ == ::getpid()) callers.of(process_).fetch_sub(1);
}

void CallsPython::wait_for_all() {
  const std::atomic<int>& count = callers.of(::getpid());
  nb::gil_scoped_release others_may_run;
  for (int i = 0; i < kLooks && count.load() > 0; ++i)
    std::this_thread::sleep_for(kLook);
}

}  // namespace sluice::python
