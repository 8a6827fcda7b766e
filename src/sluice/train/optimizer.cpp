// sluice/train/optimizer.cpp - names and limits of the optimizers, warm-up and cosine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/optimizer.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::train {
namespace {

/// Where the warm-up begins: torch's LinearLR cannot begin at 0 either.
constexpr double kFirstFactor = 1e-8;

struct Limit {
  const char* name;
  double value;
  bool accepted;
  const char* rule;
};

}  // namespace

const char* to_string(OptimizerKind kind) {
  return kind == OptimizerKind::lamb ? "lamb" : "adamw";
}

Result<OptimizerKind> parse_optimizer(std::string_view text) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw})
    if (text == to_string(kind)) return kind;
  return Error{Errc::usage,
               fmt::format("--optimizer '{}': lamb and adamw are accepted", printable(text))};
}

Status check_optimizer(const OptimizerConfig& config) {
  const auto not_negative = [](double value) { return std::isfinite(value) && value >= 0; };
  const auto share = [](double value) { return value >= 0 && value < 1; };
  for (const Limit& limit :
       {Limit{"learning rate", config.learning_rate, not_negative(config.learning_rate),
              "at least 0"},
        Limit{"weight decay", config.weight_decay, not_negative(config.weight_decay), "at least 0"},
        Limit{"beta1", config.beta1, share(config.beta1), "at least 0 and below 1"},
        Limit{"beta2", config.beta2, share(config.beta2), "at least 0 and below 1"},
        Limit{"epsilon", config.epsilon, not_negative(config.epsilon) && config.epsilon > 0,
              "above 0"},
        Limit{"largest gradient norm", config.max_gradient_norm,
              not_negative(config.max_gradient_norm), "at least 0 (0: no clip)"},
        Limit{"decay of the average", config.average_decay, share(config.average_decay),
              "at least 0 and below 1"}})
    if (!limit.accepted)
      return Error{Errc::usage, fmt::format("{} {}: accepted is a number of {}", limit.name,
                                            limit.value, limit.rule)};
  if (config.total_steps != 0 && config.warmup_steps > config.total_steps)
    return Error{Errc::usage,
                 fmt::format("{} steps of warm-up: at most the {} steps of the run are accepted",
                             config.warmup_steps, config.total_steps)};
  return ok;
}

double learning_rate_at(const OptimizerConfig& config, std::uint64_t step) {
  const auto as_double = [](std::uint64_t steps) { return static_cast<double>(steps); };
  if (step < config.warmup_steps)
    return config.learning_rate *
           (kFirstFactor + (1 - kFirstFactor) * as_double(step) / as_double(config.warmup_steps));
  if (config.total_steps == 0) return config.learning_rate;
  if (step >= config.total_steps) return 0;
  const double done =
      as_double(step - config.warmup_steps) / as_double(config.total_steps - config.warmup_steps);
  return config.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace sluice::train
