// python/native/mixture.cpp - loader::mixture::Mixture for Python; the rest is
// python/sluice/mixture.py.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/mixture.h"

#include "sluice/loader/episodes/presets.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include "python/native/array.h"
#include "python/native/bindings.h"
#include "python/native/raise.h"
#include <atomic>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sluice::python {
namespace {

using loader::mixture::Mixture;
using loader::mixture::MixtureBatch;
using loader::mixture::MixtureOptions;

MixtureOptions options_of(const Json& spec) {
  MixtureOptions options;
  options.batch_size = spec.at("batch_size").get<int>();
  options.samples_per_episode = spec.at("samples_per_episode").get<int>();
  options.image_size = spec.at("image_size").get<int>();
  options.shuffle_episodes = options.shuffle_pairs = spec.at("shuffle").get<bool>();
  options.mix_block = spec.at("mix_block").get<int>();
  options.read_threads = options.decode_threads = spec.at("workers").get<int>();
  options.prefetch = spec.at("prefetch").get<int>();
  options.deterministic = spec.at("deterministic").get<bool>();
  options.one_pass = spec.at("one_pass").get<bool>();
  options.on_error = spec.at("on_error") == "skip" ? loader::mixture::OnBadData::skip
                                                   : loader::mixture::OnBadData::stop;
  options.stall_limit_s = spec.at("timeout").get<double>();
  options.seed = spec.at("seed").get<std::uint64_t>();
  return options;
}

Result<std::unique_ptr<Mixture>> open(const Json& spec, const Json& resume) {
  SLUICE_TRY(const auto preset,
             loader::episodes::find_preset(spec.at("preset").get<std::string>()));
  storage::StoreOptions store;
  store.input = spec.at("path").get<std::string>();
  store.endpoint = spec.at("endpoint").get<std::string>();
  store.region = spec.at("region").get<std::string>();
  store.anonymous = spec.at("anonymous").get<bool>();
  SLUICE_TRY(auto opened, storage::open_store(store));
  loader::mixture::PresetChoice choice;
  choice.split = spec.at("split").get<std::string>();
  choice.skip = spec.at("skip").get<std::vector<std::string>>();
  choice.places = store;
  SLUICE_TRY(auto sources, loader::mixture::preset_sources(opened, *preset, choice));
  return Mixture::open(std::move(sources), options_of(spec), resume);
}

/// A batch with memory of its own: the next call of next() writes over what it was made of.
struct Copy {
  std::size_t size = 0, side = 0, action_size = 0, state_size = 0;
  std::vector<std::uint8_t> images;
  std::vector<float> action, state;
  std::vector<std::int64_t> source;  // torch has few unsigned types: these are indices, as its own
  std::vector<std::int64_t> frame;
  std::vector<std::int32_t> offset;
  std::vector<std::string> language, episode, robot;
};

template <class T, class From>
void copy_into(std::vector<T>& out, std::span<From> from) {
  out.assign(from.begin(), from.end());
}

std::shared_ptr<Copy> copy_of(const MixtureBatch& batch) {
  auto copy = std::make_shared<Copy>();
  copy->size = static_cast<std::size_t>(batch.size);
  copy->side = static_cast<std::size_t>(batch.image_size);
  copy->action_size = static_cast<std::size_t>(batch.full.action_size);
  copy->state_size = static_cast<std::size_t>(batch.full.state_size);
  copy_into(copy->images, batch.images);
  copy_into(copy->source, batch.source);
  copy_into(copy->action, batch.full.action);
  copy_into(copy->state, batch.full.state);
  copy_into(copy->frame, batch.full.frame);
  copy_into(copy->offset, batch.full.offset);
  copy_into(copy->language, batch.full.language);
  copy_into(copy->episode, batch.full.episode_id);
  copy_into(copy->robot, batch.full.robot);
  return copy;
}

nb::list texts_of(std::span<const std::string> texts) {
  nb::list list;
  for (const std::string& one : texts)
    list.append(nb::steal(
        PyUnicode_DecodeUTF8(one.data(), static_cast<Py_ssize_t>(one.size()), "replace")));
  return list;
}

/// Threads may share one: a second next() waits its turn. The mixture lives as long as this, and
/// whoever calls a method holds a reference to it: close() in the middle takes nothing away.
class NativeMixture {
 public:
  /// `spec`: what Mixture.__init__ of python/sluice/mixture.py writes; every key is there.
  /// `resume`: what state() gave, or "null".
  NativeMixture(const std::string& spec, const std::string& resume, const std::string& tensors)
      : tensors_(value_or_raise(parse_tensors(tensors))) {
    const Json json = value_or_raise(parse_json(spec, "spec"));
    const Json state = value_or_raise(parse_json(resume, "the state"));
    auto made = [&] {
      nb::gil_scoped_release others_may_run;
      return open(json, state);
    }();
    mixture_ = value_or_raise(std::move(made));
  }
  ~NativeMixture() {
    if (::getpid() != process_) {
      (void)mixture_.release();  // its threads are not here: nobody could be waited for
      return;
    }
    close();
    nb::gil_scoped_release others_may_run;
    mixture_.reset();
  }
  NativeMixture(const NativeMixture&) = delete;
  NativeMixture& operator=(const NativeMixture&) = delete;

  /// None after the last one.
  nb::object next() {
    Mixture& mine = mixture();
    if (waiting_.load() == std::this_thread::get_id())
      raise({Errc::unsupported,
             "a handler of a signal asked the mixture that waits for a batch in this thread: "
             "accepted are state_dict, sources, stats and close"});
    auto taken = [&]() -> Result<std::shared_ptr<Copy>> {
      nb::gil_scoped_release others_may_run;
      const std::lock_guard until_it_is_copied(one_at_a_time_);
      struct Waiting {
        std::atomic<std::thread::id>& thread;
        ~Waiting() { thread = std::thread::id(); }
      } const until_it_is_done{waiting_};
      waiting_ = std::this_thread::get_id();
      SLUICE_TRY(const MixtureBatch* batch, mine.next([] {
        nb::gil_scoped_acquire lock;
        return PyErr_CheckSignals() == 0;
      }));
      return batch == nullptr ? nullptr : copy_of(*batch);
    }();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();  // a signal: its handler raised
    const auto copy = value_or_raise(std::move(taken));
    return copy == nullptr ? nb::none() : dict_of(copy);
  }

  std::string state() { return dump_json(mixture().state(), -1); }
  std::string stats() { return dump_json(to_json(mixture().stats()), -1); }
  nb::list sources() {
    nb::list names;
    for (const auto& source : mixture().sources())
      names.append(nb::str(source.name.c_str()));
    return names;
  }

  /// From any thread: a next() that waits gives up. Waits for no next(), which may be the caller
  /// itself: in a handler of a signal.
  void close() {
    if (::getpid() != process_) return;
    nb::gil_scoped_release others_may_run;
    mixture_->close();
  }

 private:
  Mixture& mixture() {
    if (::getpid() != process_)
      raise({Errc::unsupported,
             fmt::format("the mixture was made in process {}, and its threads stayed there: make "
                         "another in process {}",
                         process_, ::getpid())});
    return *mixture_;
  }

  nb::object dict_of(const std::shared_ptr<Copy>& copy) {
    const auto put = [&]<class T>(nb::dict& out, const char* name, std::vector<T>& values,
                                  std::initializer_list<std::size_t> shape) {
      out[name] = array_of(
          {values.data(), std::span(shape.begin(), shape.size()), nb::dtype<T>(), copy}, tensors_);
    };
    const std::size_t count = copy->size;
    nb::dict out;
    put(out, "images", copy->images, {count, 3, 2, copy->side, copy->side});
    put(out, "action", copy->action, {count, copy->action_size});
    put(out, "state", copy->state, {count, copy->state_size});
    put(out, "frame", copy->frame, {count});
    put(out, "offset", copy->offset, {count});
    put(out, "source", copy->source, {count});
    out["language"] = texts_of(copy->language);
    out["episode"] = texts_of(copy->episode);
    out["robot"] = texts_of(copy->robot);
    nb::list types;  // what a source is, said again for each sample
    for (const std::int64_t one : copy->source)
      types.append(nb::str(mixture_->sources()[static_cast<std::size_t>(one)].type.c_str()));
    out["dataset_type"] = types;
    return out;
  }

  std::unique_ptr<Mixture> mixture_;
  std::mutex one_at_a_time_;
  std::atomic<std::thread::id> waiting_{};  // whose next() holds it
  Tensors tensors_;
  pid_t process_ = ::getpid();
};

}  // namespace

void bind_mixture(nb::module_& module) {
  nb::class_<NativeMixture>(module, "Mixture")
      .def(nb::init<const std::string&, const std::string&, const std::string&>())
      .def("next", &NativeMixture::next)
      .def("state", &NativeMixture::state)
      .def("stats", &NativeMixture::stats)
      .def("sources", &NativeMixture::sources)
      .def("close", &NativeMixture::close);
}

}  // namespace sluice::python
