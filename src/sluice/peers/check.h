// sluice/peers/check.h - is a library's worker healthy, and what can it do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/worker/worker.h"
#include "sluice/peers/library.h"
#include "sluice/peers/places.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::peers {

enum class Health {
  healthy,
  not_installed,  // environment or program missing
  unsupported,    // it is there, and says that this machine is not for it: no CUDA device
  failed,         // it crashed, hung, or answered what is no answer
};
const char* to_string(Health health);

/// What to ask about one scenario: `cases` is [{"case": name, "spec": {...}}...] of the protocol.
struct SupportQuestion {
  std::string scenario;
  Json cases;
};

struct SupportAnswer {
  std::string scenario;
  int asked = 0;
  int supported = 0;
  std::map<std::string, std::string> unsupported;  // case: reason
  std::string reason;                              // why there is no answer; the counts are then 0
};

/// One library in one mode.
struct CheckReport {
  std::string library;
  std::string mode;
  std::string group;  // empty: a native program
  Health health = Health::failed;
  std::string reason;  // empty when healthy
  std::string version;
  std::map<std::string, std::string> versions;
  std::optional<std::int64_t> threads;  // in force, as the worker read it back
  Json in_force = Json::object();
  std::vector<SupportAnswer> support;
};

struct CheckOptions {
  measure::Launcher* launcher = nullptr;
  std::filesystem::path log_folder;  // holds <library>-<mode>.log; empty: no log
  int cancel_fd = -1;
  double start_timeout_s = 120;    // importing torch from a cold disk
  double support_timeout_s = 300;  // each scenario: every transform is built and used once
};

/// Starts the worker, asks `hello`, `configure` and `support`, and ends it. Error: interrupted
/// only.
Result<CheckReport> check_worker(const Places& places, const Library& library, const Way& way,
                                 const std::vector<SupportQuestion>& questions,
                                 const CheckOptions& options);

/// The policy under which a mode is checked and, unless told otherwise, measured.
const char* default_thread_policy(std::string_view mode);

Json to_json(const CheckReport& report);

}  // namespace sluice::peers
