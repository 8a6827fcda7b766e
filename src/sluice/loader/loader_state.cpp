// sluice/loader/loader_state.cpp - the state of a loader as JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/loader_state.h"

#include <fmt/format.h>

namespace sluice::loader {
namespace {

Result<std::uint64_t> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned())
    return Error{Errc::invalid_input,
                 fmt::format("loader state: `{}` must be a number of at least 0", key)};
  return found->get<std::uint64_t>();
}

}  // namespace

Json to_json(const LoaderState& state) {
  return Json{{"version", LoaderState::kVersion},    {"epoch", state.epoch},
              {"consumed", state.consumed},          {"seed", state.seed},
              {"shuffle", to_string(state.shuffle)}, {"window", state.window},
              {"dataset_size", state.dataset_size}};
}

Result<LoaderState> state_from_json(const Json& json) {
  if (!json.is_object()) return Error{Errc::invalid_input, "loader state: not a JSON object"};
  SLUICE_TRY(const std::uint64_t version, number(json, "version"));
  if (version != static_cast<std::uint64_t>(LoaderState::kVersion))
    return Error{Errc::invalid_input,
                 fmt::format("loader state: version {} is not known; accepted: {}", version,
                             LoaderState::kVersion)};
  LoaderState state;
  SLUICE_TRY(state.epoch, number(json, "epoch"));
  SLUICE_TRY(state.consumed, number(json, "consumed"));
  SLUICE_TRY(state.seed, number(json, "seed"));
  SLUICE_TRY(state.window, number(json, "window"));
  SLUICE_TRY(state.dataset_size, number(json, "dataset_size"));
  const auto shuffle = json.find("shuffle");
  if (shuffle == json.end() || !shuffle->is_string())
    return Error{Errc::invalid_input, "loader state: `shuffle` must be a text"};
  auto parsed = parse_shuffle(shuffle->get_ref<const std::string&>());
  if (!parsed) return Error{Errc::invalid_input, "loader state: " + parsed.error().message};
  state.shuffle = *parsed;
  if (state.consumed > state.dataset_size)
    return Error{Errc::invalid_input, fmt::format("loader state: {} samples consumed of {}",
                                                  state.consumed, state.dataset_size)};
  return state;
}

}  // namespace sluice::loader
