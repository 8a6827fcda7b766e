// python/native/function.h - a function of Python as one stage of a recipe: called on workers, its
// cost counted, what it raises kept for whoever waits for the batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/loader/recipe/recipe.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>

namespace sluice::python {

namespace nb = nanobind;

struct Size {
  int height = 0;
  int width = 0;
};

/// For any number of threads at a time; the interpreter's lock lets one of them call.
class Function {
 public:
  /// `description`: what Function._description() of python/sluice/recipe.py writes. With the lock
  /// held.
  Function(nb::object callable, const Json& description);
  ~Function();  // takes the lock
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// Takes the lock. `given` is lent to the function as an array, which may write into it; when it
  /// keeps the array, `given` is another image afterwards. `wanted` is asked for where no shape was
  /// declared; nothing: that of `given`. What is wrong with the result is a usage error, what it
  /// raises an internal one: neither is the fault of the sample's bytes.
  Status call(image::Image& out, std::shared_ptr<image::Image>& given, std::optional<Size> wanted,
              const loader::SampleKey& key, const loader::Dataset& dataset);

  /// The exception behind an error of the loader, as cause of one with the error's line; returns
  /// when there is none. With the lock held.
  void raise_cause_of(const Error& error);

  /// This thread is inside of call(): it may not wait for the workers.
  [[nodiscard]] bool runs_here() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  /// {"name", "calls", "busy_ns", "lock_wait_ns", "mean_ns", "share"}; `all_ns` is the busy time
  /// of the workers, which contains both.
  [[nodiscard]] Json cost(std::int64_t all_ns) const;

  /// For the garbage collector: what is referred to, and to let go of it once no worker is left.
  int traverse(visitproc visit, void* arg) const;
  void let_go();

 private:
  struct Raised {
    nb::object exception;
    std::uint64_t epoch = 0;
  };
  static constexpr std::size_t kKept = 64;  // exceptions; each holds its frames, and their images

  void keep(std::string line, Raised raised);
  Status call_locked(image::Image& out, const std::shared_ptr<image::Image>& given,
                     std::optional<Size> wanted, const loader::SampleKey& key,
                     const loader::Dataset& dataset);
  Status take(image::Image& out, nb::object made, Size wanted) const;

  nb::object callable_;
  std::string name_;
  image::DType dtype_ = image::DType::u8;
  std::optional<Size> declared_;
  bool keyed_ = false;
  std::map<std::string, Raised> raised_;  // by the line of the error; under the lock
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::int64_t> busy_ns_{0}, lock_wait_ns_{0};
};

/// Of a loader whose workers may call a function: while there is one, the interpreter must not end.
class CallsPython {
 public:
  CallsPython();
  ~CallsPython();
  CallsPython(const CallsPython&) = delete;
  CallsPython& operator=(const CallsPython&) = delete;

  /// Once all loaders were told to stop: waits for those that the collector ends in another thread.
  /// With the lock held, which it lets go; 10 s at most.
  static void wait_for_all();

 private:
  int process_;  // in a process that forked off there are no workers
};

}  // namespace sluice::python
