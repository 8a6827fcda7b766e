// sluice/measure/worker/subject.h - a thing that can be timed, seen from inside its worker process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::measure {

/// What `configure` and `load` told the worker.
struct SubjectContext {
  int threads = 1;
  std::uint64_t seed = 0;
  std::filesystem::path data_dir;             // empty: the subject needs no files
  std::map<std::string, std::string> params;  // the axis values of the case
  std::filesystem::path inputs_index;         // decoded inputs shared by all workers; empty: none
  std::filesystem::path inputs_data;
  std::int64_t num_items = 0;     // at most so many of them; 0: all
  std::vector<std::string> skip;  // files of data_dir that are known to be damaged
  std::string case_name;
  Json spec;               // what `prepare` says about the case beside its name; an object or null
  bool synthetic = false;  // `support` asks: work on a small input of the subject's own making
};

/// Outputs for people and for comparing libraries: f32 HWC in units 0 to 255, one after another.
struct OutputSamples {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<float> values;
};

/// Called in this order: check, then run_pass as often as the policy asks. Any of them may throw; a
/// throw or an Error costs the row, never the session.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Compares the output of run_pass with the reference; returns a digest of the output, the same
  /// in every process.
  virtual Result<std::string> check() = 0;
  /// The timed work: one pass over all items, output materialised.
  virtual void run_pass() = 0;
  [[nodiscard]] virtual std::int64_t items_per_pass() const = 0;
  /// Bytes of output per item; 0 when it makes no sense.
  [[nodiscard]] virtual double bytes_per_item() const = 0;

  /// Works on `count` items from `first` on, for estimates and warm-up; returns how many it did, 0
  /// when this subject cannot divide its pass.
  virtual std::int64_t run_items([[maybe_unused]] std::int64_t first,
                                 [[maybe_unused]] std::int64_t count) {
    return 0;
  }
  /// Threads of the subject work ahead, so that a single pass may find its work done and take no
  /// time: samples are sized by the mean of passes, not by the fastest.
  [[nodiscard]] virtual bool works_ahead() const { return false; }
  /// A spec may ask for more than one sample: for a shortest time, say. Asked after each, with the
  /// time of all since begin_sample().
  [[nodiscard]] virtual bool wants_more([[maybe_unused]] std::int64_t elapsed_ns) const {
    return false;
  }
  /// Called right before a timed sample, after its warm-up: nothing done here is timed.
  virtual void begin_sample() {}
  /// Passes that the subject itself took around the last sample, in begin_sample() and
  /// measured_info(): what a sample is not timed for has its cost too.
  [[nodiscard]] virtual std::int64_t untimed_passes() const { return 0; }
  /// What the subject counted during the last sample (stages, bytes, waits); null: nothing. Ends up
  /// in the `details` of the run.
  [[nodiscard]] virtual Json measured_info() { return {}; }
  /// Further fields of the answer to `check`, such as shape and dtype; asked after check().
  [[nodiscard]] virtual Json output_info() const { return Json::object(); }
  /// `draws` outputs of each of the first `items` items, item by item.
  virtual Result<OutputSamples> sample([[maybe_unused]] std::int64_t items,
                                       [[maybe_unused]] std::int64_t draws) {
    return Error{Errc::unsupported, "this case gives no samples of its output"};
  }

  /// In a timed pass an error has no one to go to; thrown, it ends the row through the worker's
  /// reply.
  static void require(const Status& status) {
    if (!status) throw std::runtime_error(status.error().message);
  }
};

using SubjectFactory =
    std::function<Result<std::unique_ptr<Subject>>(const SubjectContext& context)>;

/// What a worker offers: cases by scenario name (the part of a case name before its axis values).
struct Catalogue {
  std::string library;
  std::string version;
  std::map<std::string, SubjectFactory> scenarios;
  /// For cases that are no scenario by name: the longest prefix ("image-rgb/micro/") serves. Its
  /// factory looks at SubjectContext::case_name and gives the reason for what it does not have.
  std::map<std::string, SubjectFactory> prefixes{};
  std::vector<std::string> cases{};               // named by `hello` beside the scenarios
  std::map<std::string, std::string> versions{};  // by package, for `hello`
  /// After `configure`: applies it, and returns what is in force, read back. Null: nothing to say.
  std::function<Result<Json>(const SubjectContext& context)> configure{};
  /// After `load`: the fields of the answer (items, bytes). Null: an empty answer.
  std::function<Result<Json>(const SubjectContext& context)> load{};
};

}  // namespace sluice::measure
