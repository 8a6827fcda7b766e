// sluice/measure/subject.h - a thing that can be timed, seen from inside its worker process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
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
  Json spec;  // what `prepare` says about the case beside its name; an object or null
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
};

using SubjectFactory =
    std::function<Result<std::unique_ptr<Subject>>(const SubjectContext& context)>;

/// What a worker offers: cases by scenario name (the part of a case name before its axis values).
struct Catalogue {
  std::string library;
  std::string version;
  std::map<std::string, SubjectFactory> scenarios;
};

}  // namespace sluice::measure
