// sluice/peers/check.cpp - one worker, three questions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/check.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/peers/environment.h"
#include "sluice/peers/launch.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;

Status ask_hello(measure::Worker& worker, const CheckOptions& options, CheckReport& report) {
  SLUICE_TRY(const auto answer, measure::ask(worker, measure::Hello{}, options.start_timeout_s));
  report.version = answer.version;
  report.versions = measure::texts_of(answer.versions);
  return ok;
}

Status ask_configure(measure::Worker& worker, const Library& library, const CheckOptions& options,
                     CheckReport& report) {
  const measure::Configure request{.device = library.needs_gpu ? "cuda" : "cpu",
                                   .thread_policy = default_thread_policy(report.mode)};
  SLUICE_TRY(const auto answer, measure::ask(worker, request, options.start_timeout_s));
  report.threads = answer.threads;
  if (answer.in_force.is_object()) report.in_force = answer.in_force;
  return ok;
}

/// Every case must be answered, once: supported, or not with a reason.
Result<SupportAnswer> read_support(measure::Support::Answer answer,
                                   const SupportQuestion& question) {
  const std::size_t answered = answer.supported + answer.unsupported.size();
  if (answered != question.cases.size())
    return Error{Errc::measurement,
                 fmt::format("support: {} cases of {} were answered in {}", answered,
                             question.cases.size(), question.scenario)};
  SupportAnswer read;
  read.scenario = question.scenario;
  read.asked = static_cast<int>(question.cases.size());
  read.supported = static_cast<int>(answer.supported);
  read.unsupported = std::move(answer.unsupported);
  return read;
}

Status ask_support(measure::Worker& worker, const std::vector<SupportQuestion>& questions,
                   const CheckOptions& options, CheckReport& report) {
  for (const SupportQuestion& question : questions) {
    auto answer = measure::ask(worker, measure::Support{question.cases}, options.support_timeout_s);
    if (!answer && answer.error().code == Errc::unsupported) {  // it does not know the question
      SupportAnswer none;
      none.scenario = question.scenario;
      none.reason = answer.error().message;
      report.support.push_back(std::move(none));
      continue;
    }
    if (!answer) return answer.error();
    SLUICE_TRY(SupportAnswer read, read_support(std::move(*answer), question));
    report.support.push_back(std::move(read));
  }
  return ok;
}

Status ask_all(const Library& library, const WorkerCommand& command,
               const std::vector<SupportQuestion>& questions, const CheckOptions& options,
               CheckReport& report) {
  measure::LaunchOptions launch;
  launch.command = command.command;
  launch.environment = command.environment;
  launch.cancel_fd = options.cancel_fd;
  if (!options.log_folder.empty()) {
    SLUICE_CHECK(create_folders(options.log_folder));
    launch.log_file = options.log_folder / fmt::format("{}-{}.log", report.library, report.mode);
    SLUICE_CHECK(write_file_atomic(launch.log_file, ""));
  }
  SLUICE_TRY(const auto worker, options.launcher->launch(launch));
  SLUICE_CHECK(ask_hello(*worker, options, report));
  SLUICE_CHECK(ask_configure(*worker, library, options, report));
  SLUICE_CHECK(ask_support(*worker, questions, options, report));
  worker->finish();
  return ok;
}

}  // namespace

const char* to_string(Health health) {
  switch (health) {
    case Health::healthy:
      return "ok";
    case Health::not_installed:
      return "not installed";
    case Health::unsupported:
      return "unsupported";
    case Health::failed:
      return "failed";
  }
  return "failed";
}

const char* default_thread_policy(std::string_view mode) {
  if (mode == "loader" || mode == "mixture") return "loader-all-cores";
  if (mode == "training") return "micro-threads";
  return mode == "pipeline" ? "pipeline-default" : "micro-single";
}

Result<CheckReport> check_worker(const Places& places, const Library& library, const Way& way,
                                 const std::vector<SupportQuestion>& questions,
                                 const CheckOptions& options) {
  CheckReport report;
  report.library = library.name;
  report.mode = way.mode;
  report.group = way.group;
  const auto command =
      worker_command(places, report.library, report.mode, default_thread_policy(way.mode));
  if (!command) {
    const bool missing = command.error().code == Errc::unsupported;
    const bool foreign = !no_package(library, this_machine()).empty();  // no install helps
    report.health = foreign   ? Health::unsupported
                    : missing ? Health::not_installed
                              : Health::failed;
    report.reason = command.error().message;
    return report;
  }
  const Status asked = ask_all(library, *command, questions, options, report);
  if (asked) {
    report.health = Health::healthy;
    return report;
  }
  if (asked.error().code == Errc::interrupted) return asked.error();
  report.health = asked.error().code == Errc::unsupported ? Health::unsupported : Health::failed;
  report.reason = asked.error().message;
  return report;
}

Json to_json(const CheckReport& report) {
  Json support = Json::array();
  for (const SupportAnswer& answer : report.support) {
    Json unsupported = Json::object();
    for (const auto& [name, reason] : answer.unsupported)
      unsupported[name] = reason;
    const bool known = answer.reason.empty();
    support.push_back({{"scenario", answer.scenario},
                       {"asked", known ? Json(answer.asked) : Json()},
                       {"supported", known ? Json(answer.supported) : Json()},
                       {"unsupported", std::move(unsupported)},
                       {"reason", known ? Json() : Json(answer.reason)}});
  }
  Json versions = Json::object();
  for (const auto& [package, version] : report.versions)
    versions[package] = version;
  return {{"library", report.library},
          {"mode", report.mode},
          {"group", report.group.empty() ? Json() : Json(report.group)},
          {"status", to_string(report.health)},
          {"reason", report.reason.empty() ? Json() : Json(report.reason)},
          {"version", report.version.empty() ? Json() : Json(report.version)},
          {"versions", std::move(versions)},
          {"threads", report.threads ? Json(*report.threads) : Json()},
          {"in_force", report.in_force},
          {"support", std::move(support)}};
}

}  // namespace sluice::peers
