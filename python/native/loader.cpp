// python/native/loader.cpp - loader::Loader for Python: locks, signals, forks; the rest is
// python/sluice/loader.py.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/loader.h"

#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/gpu/copy_feed.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include "python/native/bindings.h"
#include "python/native/function.h"
#include "python/native/lease.h"
#include "python/native/raise.h"
#include "python/native/recipe.h"
#include <atomic>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>

namespace sluice::python {
namespace {

using loader::Dataset;
using loader::Loader;
using loader::LoaderOptions;

struct Parts {
  std::shared_ptr<const Dataset> dataset;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<loader::gpu::CopyFeed> feed;  // on a GPU
  std::shared_ptr<Returns> returns;             // pinned, on the host
};

/// With `device` "cuda" or "cuda:N", or with `pin`; else null.
Result<std::shared_ptr<const loader::gpu::Device>> open_device(const Json& spec) {
  const auto name = spec.at("device").get<std::string>();
  if (name != "cpu")
    return loader::gpu::Device::open(spec.at("gpu").get<int>(), fmt::format("device is '{}'", name),
                                     "cpu");
  if (spec.at("pin").get<bool>())
    return loader::gpu::Device::open(-1, "pin_memory is True", "False");
  return std::shared_ptr<const loader::gpu::Device>();
}

Result<Parts> open(const Json& spec, const std::shared_ptr<Function>& function) {
  SLUICE_TRY(const auto device, open_device(spec));
  storage::StoreOptions store;
  store.input = spec.at("path").get<std::string>();
  store.endpoint = spec.at("endpoint").get<std::string>();
  store.region = spec.at("region").get<std::string>();
  store.anonymous = spec.at("anonymous").get<bool>();
  store.cache_dir = spec.at("cache_dir").get<std::string>();
  SLUICE_TRY(auto opened, storage::open_store(store));
  loader::DatasetOptions data;
  data.labels_csv = spec.at("labels").get<std::string>();
  Parts parts;
  SLUICE_TRY(parts.dataset, loader::open_dataset(std::move(opened), data));
  SLUICE_TRY(auto recipe, make_recipe(spec.at("recipe"), parts.dataset, function));

  LoaderOptions options;
  options.batch_size = spec.at("batch_size").get<std::uint32_t>();
  options.workers = spec.at("workers").get<int>();
  options.prefetch = spec.at("prefetch").get<int>() + kHeldBatches;
  options.seed = spec.at("seed").get<std::uint64_t>();
  SLUICE_TRY(options.shuffle, loader::parse_shuffle(spec.at("shuffle").get<std::string>()));
  options.window = spec.at("window").get<std::uint64_t>();
  options.rank = spec.at("rank").get<std::uint32_t>();
  options.ranks = spec.at("world").get<std::uint32_t>();
  options.drop_last = spec.at("drop_last").get<bool>();
  options.persistent_workers = spec.at("persistent").get<bool>();
  options.on_error = spec.at("on_error") == "skip" ? loader::OnError::skip : loader::OnError::fail;
  options.timeout_s = spec.at("timeout").get<double>();
  if (device != nullptr) {
    options.prefetch += 1;  // a slot may still be read by the device
    options.pin_memory = true;
    options.pinned_allocator = device->pinned_allocator();
  }
  SLUICE_TRY(parts.loader, Loader::make(parts.dataset, std::move(recipe), options));
  if (device == nullptr) return parts;
  if (spec.at("device") == "cpu") {
    parts.returns = std::make_shared<Returns>(device);
    return parts;
  }
  parts.feed = std::make_unique<loader::gpu::CopyFeed>(device, *parts.loader);
  SLUICE_CHECK(parts.feed->open());
  return parts;
}

/// Other threads of Python may run meanwhile.
template <class Work>
auto unlocked(Work work) {
  nb::gil_scoped_release others_may_run;
  return work();
}

/// start_epoch(), next() and restore() are for one thread at a time; a second one waits its turn.
class NativeLoader {
  /// Whoever waits for workers must not be one.
  void not_a_worker() const {
    if (function_ != nullptr && function_->runs_here())
      raise({Errc::unsupported,
             fmt::format("the function {} asked its own loader, which waits for it: accepted are "
                         "sample_name, dataset_size and stats",
                         function_->name())});
  }

  Loader& loader() {
    if (::getpid() == process_) return *parts_->loader;
    raise({Errc::unsupported,
           fmt::format("the loader was made in process {}, and its threads stayed there: make "
                       "another in process {}",
                       process_, ::getpid())});
  }

  template <class Work>
  auto alone(Work work) {
    Loader& mine = loader();
    not_a_worker();
    if (waiting_.load() == std::this_thread::get_id())
      raise({Errc::unsupported,
             "a handler of a signal asked the loader that waits for a batch in this thread: "
             "accepted are state_dict, sample_name, dataset_size, stats and close"});
    return unlocked([&] {
      std::lock_guard lock(one_at_a_time_);
      struct Waiting {
        std::atomic<std::thread::id>& thread;
        ~Waiting() { thread = std::thread::id(); }
      } const until_it_is_done{waiting_};
      waiting_ = std::this_thread::get_id();
      return work(mine);
    });
  }

 public:
  /// `spec`: what Loader.__init__ of python/sluice/loader.py writes; every key is there.
  /// `function`: the one of the recipe, or None.
  NativeLoader(const std::string& spec, const std::string& tensors, const nb::object& function)
      : tensors_(value_or_raise(parse_tensors(tensors))) {
    const Json json = value_or_raise(parse_json(spec, "spec"));
    if (!function.is_none()) {
      calls_ = std::make_unique<CallsPython>();
      function_ = std::make_shared<Function>(function, json.at("recipe").at("function"));
    }
    auto parts = unlocked([&] { return open(json, function_); });
    parts_ = std::make_unique<Parts>(value_or_raise(std::move(parts)));
  }

  ~NativeLoader() {
    if (::getpid() != process_)
      (void)parts_.release();  // its threads are not here: nobody could be waited for
    else if (function_ != nullptr && function_->runs_here())  // the collector came by a worker
      std::thread([parts = std::move(parts_), calls = std::move(calls_)]() mutable {
        parts.reset();
        calls.reset();
      }).detach();
    else
      unlocked([&] { parts_.reset(); });
  }
  NativeLoader(const NativeLoader&) = delete;
  NativeLoader& operator=(const NativeLoader&) = delete;

  void start_epoch(std::uint64_t epoch) {
    check_or_raise(alone([&](Loader& loader) {
      return parts_->feed ? parts_->feed->start_epoch(epoch) : loader.start_epoch(epoch);
    }));
  }

  /// None at the end of the epoch.
  nb::object next() {
    return parts_->feed ? given([&](Loader&) { return parts_->feed->next(no_signal_came); })
                        : given([&](Loader& loader) { return next_of(loader); });
  }

 private:
  static bool no_signal_came() {
    nb::gil_scoped_acquire lock;
    return PyErr_CheckSignals() == 0;
  }

  Result<std::optional<loader::Batch>> next_of(Loader& loader) {
    if (parts_->returns) SLUICE_CHECK(parts_->returns->collect(*held_));
    return loader.next(no_signal_came);
  }

  nb::tuple arrays(loader::Batch&& batch) {
    return arrays_of(std::move(batch), held_, parts_->returns, tensors_);
  }
  nb::tuple arrays(const std::shared_ptr<loader::gpu::Arrival>& arrival) {
    return arrays_of(arrival, tensors_);
  }

  /// What `next` takes, as arrays.
  template <class Next>
  nb::object given(Next next) {
    auto taken = alone(next);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();  // a signal: its handler raised
    if (!taken && function_ != nullptr) function_->raise_cause_of(taken.error());
    auto batch = value_or_raise(std::move(taken));
    if (!batch) return nb::none();
    if constexpr (std::is_same_v<std::decay_t<decltype(*batch)>, loader::Batch>)
      return arrays(std::move(*batch));
    else
      return arrays(batch);
  }

 public:
  /// Waits for no next(), which may be the caller itself: in a handler of a signal.
  std::string state() {
    Loader& mine = loader();
    not_a_worker();
    const loader::LoaderState state =
        unlocked([&] { return parts_->feed ? parts_->feed->state() : mine.state(); });
    return dump_json(loader::to_json(state), -1);
  }

  void restore(const std::string& text) {
    const Json json = value_or_raise(parse_json(text, "the state"));
    const auto state = value_or_raise(loader::state_from_json(json));
    check_or_raise(alone([&](Loader& loader) {
      return parts_->feed ? parts_->feed->restore(state) : loader.restore(state);
    }));
  }

  /// Batches of a whole epoch.
  std::uint64_t steps() {
    const LoaderOptions& options = loader().options();
    return loader::BatchPlan(parts_->dataset->size(),
                             {options.batch_size, options.rank, options.ranks, options.drop_last})
        .steps();
  }

  std::uint64_t dataset_size() { return parts_->dataset->size(); }

  std::string sample_name(std::uint64_t index) {
    if (index < parts_->dataset->size()) return parts_->dataset->name(index);
    raise({Errc::usage,
           fmt::format("sample {}; accepted: 0 to {}", index, parts_->dataset->size() - 1)});
  }

  std::string stats() {
    const loader::LoaderStats stats = loader().stats();
    Json json = loader::to_json(stats);
    if (function_ != nullptr) json["function"] = function_->cost(stats.stages().all_ns());
    if (parts_->feed) json["device_bytes"] = parts_->feed->device_bytes();
    return dump_json(json, -1);
  }

  /// From any thread: ends the workers; a next() that waits gives up.
  void close() {
    if (::getpid() != process_) return;
    not_a_worker();
    unlocked([&] {
      parts_->loader->stop();
      if (parts_->feed == nullptr || waiting_.load() == std::this_thread::get_id()) return;
      std::lock_guard lock(one_at_a_time_);  // whoever waits gives up now
      parts_->feed->close();
    });
    calls_.reset();
  }

  /// As close(), for whom nobody waits: in a worker, which the collector came by, it does nothing.
  void end() {
    if (function_ == nullptr || !function_->runs_here()) close();
  }

  /// The function may refer to the loader: the collector has to see that, and to cut it. It does so
  /// after end(), by __del__: the lock must not be let go while half of the garbage is cleared, for
  /// then a worker might call a function of which half is left.
  int traverse(visitproc visit, void* arg) const {
    return function_ != nullptr ? function_->traverse(visit, arg) : 0;
  }
  void clear() {
    if (function_ != nullptr && calls_ == nullptr) function_->let_go();  // no worker is left
  }

 private:
  std::unique_ptr<CallsPython> calls_;  // until the workers have ended
  std::shared_ptr<Function> function_;
  std::unique_ptr<Parts> parts_;
  std::mutex one_at_a_time_;
  std::atomic<std::thread::id> waiting_{};  // whose call holds it
  HeldCount held_ = std::make_shared<std::atomic<int>>(0);
  Tensors tensors_;
  pid_t process_ = ::getpid();
};

int traverse_loader(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<NativeLoader>(self)->traverse(visit, arg) : 0;
}
int clear_loader(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<NativeLoader>(self)->clear();
  return 0;
}
PyType_Slot collector_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_loader)},
                                 {Py_tp_clear, reinterpret_cast<void*>(clear_loader)},
                                 {0, nullptr}};

}  // namespace

void bind_loader(nb::module_& module) {
  nb::class_<NativeLoader>(module, "Loader", nb::type_slots(collector_slots))
      .def(nb::init<const std::string&, const std::string&, const nb::object&>(), nb::arg(),
           nb::arg(), nb::arg().none())
      .def("start_epoch", &NativeLoader::start_epoch)
      .def("next", &NativeLoader::next)
      .def("state", &NativeLoader::state)
      .def("restore", &NativeLoader::restore)
      .def("steps", &NativeLoader::steps)
      .def("dataset_size", &NativeLoader::dataset_size)
      .def("sample_name", &NativeLoader::sample_name)
      .def("stats", &NativeLoader::stats)
      .def("close", &NativeLoader::close)
      .def("end", &NativeLoader::end);
  module.def("wait_for_calls", &CallsPython::wait_for_all);
}

}  // namespace sluice::python
