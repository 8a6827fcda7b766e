// sluice/backend/gcp/gcloud.cpp - one call, its retries, and what its answer says.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/gcloud.h"

#include "sluice/core/json.h"
#include "sluice/core/log.h"
#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace sluice::backend::gcp {
namespace {

constexpr std::size_t kShownBytes = 600;  // of a complaint; its reason stands at either end

Result<std::optional<double>> seconds_in(const char* variable) {
  const std::string text = environment_variable(variable);
  if (text.empty()) return std::optional<double>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(value >= 0 && value <= 86'400))
    return usage_error(fmt::format("{} '{}': expected seconds", variable, printable(text)));
  return std::optional(value);
}

/// One line of what a program complained of.
std::string complaint(std::string_view text) {
  std::string line;
  for (const char c : trimmed(text)) {
    const char shown = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    if (shown != ' ' || (!line.empty() && line.back() != ' ')) line += shown;
  }
  if (line.size() > kShownBytes)
    line = line.substr(0, kShownBytes / 2) + " ... " + line.substr(line.size() - kShownBytes / 2);
  return printable(line);
}

/// "us-central1-a" of ".../zones/us-central1-a".
std::string last_part(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

}  // namespace

Result<Pace> Pace::from_environment() {
  Pace pace;
  SLUICE_TRY(const std::optional<double> wait, seconds_in("SLUICE_GCP_WAIT_S"));
  if (wait) pace.poll_s = pace.retry_s = *wait;
  SLUICE_TRY(pace.call_limit_s, seconds_in("SLUICE_GCP_CALL_S"));
  return pace;
}

Result<Gcloud> Gcloud::find(int cancel_fd) {
  Gcloud gcloud;
  SLUICE_TRY(gcloud.pace_, Pace::from_environment());
  auto program = find_command("gcloud", environment_variable("PATH"));
  if (!program) {
    return Error{Errc::not_found,
                 "gcloud: not found in PATH; --backend gcp works through the Google Cloud CLI, "
                 "--dry-run and --local without it"};
  }
  gcloud.program_ = std::move(*program);
  gcloud.cancel_fd_ = cancel_fd;
  return gcloud;
}

bool Gcloud::wait(double seconds) const {
  if (cancel_fd_ >= 0) return sleep_unless_stopped(std::chrono::duration<double>(seconds));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return true;
}

Result<std::string> Gcloud::run_once(const Call& call) const {
  ChildOptions options;
  options.command = {program_};
  options.command.insert(options.command.end(), call.arguments.begin(), call.arguments.end());
  options.environment["CLOUDSDK_CORE_DISABLE_PROMPTS"] = "1";
  options.folder = call.folder;
  options.stdout_apart = true;
  options.timeout_s = pace_.call_limit_s.value_or(call.timeout_s);
  options.cancel_fd = cancel_fd_;
  log::debug("{}", to_text(call));
  SLUICE_TRY(const ChildResult result, run_child(options));
  if (result.status == 0) return result.printed;
  const std::string what = join({call.arguments.begin(), call.arguments.begin() + 3}, " ");
  return Error{Errc::io, fmt::format("gcloud {}: exit code {}: {}", printable(what), result.status,
                                     complaint(result.output))};
}

Result<std::string> Gcloud::run(const Call& call) const {
  for (int attempt = 1;; ++attempt) {
    Result<std::string> answer = run_once(call);
    const bool again =
        !answer && answer.error().code != Errc::interrupted && attempt < call.attempts;
    if (!again) return answer;
    log::info("{}; tried again", answer.error().message);
    if (!wait(pace_.retry_s * attempt)) return Error{Errc::interrupted, "interrupted"};
  }
}

bool is_stock_out(const Error& error) {
  for (const char* text :
       {"ZONE_RESOURCE_POOL_EXHAUSTED", "STOCKOUT", "does not have enough resources available"})
    if (error.message.find(text) != std::string::npos) return true;
  return false;
}

std::string Instance::label(const char* key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string() : found->second;
}

Result<std::vector<Instance>> instances(const Gcloud& gcloud, const Call& call) {
  SLUICE_TRY(const std::string text, gcloud.run(call));
  SLUICE_TRY(const Json json, parse_json(text, "the answer of gcloud"));
  if (!json.is_array())
    return Error{Errc::io, fmt::format("{}: the answer is no list", to_text(call))};
  std::vector<Instance> found;
  for (const Json& one : json) {
    Instance instance{
        string_at(one, "name"), last_part(string_at(one, "zone")), string_at(one, "status"), {}};
    if (const Json& labels = at(one, "labels"); labels.is_object()) {
      for (const auto& [key, value] : labels.items())
        if (value.is_string()) instance.labels[key] = value.get<std::string>();
    }
    if (!instance.name.empty()) found.push_back(std::move(instance));
  }
  return found;
}

}  // namespace sluice::backend::gcp
