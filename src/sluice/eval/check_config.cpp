// sluice/eval/check_config.cpp - what an evaluation accepts.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/eval.h"

#include <fmt/format.h>

namespace sluice::eval {
namespace {

Error refuse(const char* field, const std::string& value, const char* rule) {
  return Error{Errc::usage, fmt::format("{} {}; {}", field, value, rule)};
}

}  // namespace

Status check_config(const EvalConfig& config) {
  const int models = (config.checkpoint.empty() ? 0 : 1) + (config.worker.empty() ? 0 : 1) +
                     (config.endpoint.empty() ? 0 : 1);
  if (models > 1) {
    return Error{
        Errc::usage,
        "a checkpoint, a worker and an endpoint are three models; one of them is accepted"};
  }
  if (!config.endpoint.empty() && !config.allow_network) {
    return Error{Errc::usage,
                 "an endpoint needs the network, which an evaluation must not use by itself; "
                 "--allow-network is accepted with it"};
  }
  if (models > 0 && !config.save_model.empty()) {
    return Error{
        Errc::usage,
        "save_model: only the built-in model is made here; without a checkpoint, worker or "
        "endpoint it is accepted"};
  }
  if (config.probes.empty()) return refuse("probes", "(none)", "at least one set is accepted");
  // Written so that NaN is refused.
  if (!(config.temperature == 0)) {
    return refuse("temperature", fmt::to_string(config.temperature),
                  "only 0 (greedy) is accepted: repeats must be identical");
  }
  if (config.max_new_tokens < 1 || config.max_new_tokens > 4096)
    return refuse("max_new_tokens", fmt::to_string(config.max_new_tokens), "1 to 4096 is accepted");
  if (config.max_length && (*config.max_length < 64 || *config.max_length > 65'536))
    return refuse("max_length", fmt::to_string(*config.max_length), "64 to 65536 is accepted");
  if (config.stride && (*config.stride < 1 || *config.stride > config.max_length.value_or(65'536)))
    return refuse("stride", fmt::to_string(*config.stride), "1 to max_length is accepted");
  return ok;
}

}  // namespace sluice::eval
