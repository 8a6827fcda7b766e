// sluice/visit/decoders.cpp - how a library is started as a decoder.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/decoders.h"

#include "sluice/core/json.h"
#include "sluice/peers/launch.h"
#include "sluice/peers/library.h"

#include <utility>

namespace sluice::visit {
namespace {

constexpr const char* kDecoderPolicy = "micro-single";
constexpr const char* kDecoderMode = "jpeg";

}  // namespace

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const peers::Library& library : peers::libraries()) {
    if (library.way(kDecoderMode) != nullptr) names.emplace_back(library.name);
  }
  return names;
}

Result<Peer> decoder_of(const std::string& library, const std::string& case_name) {
  SLUICE_TRY(auto worker, peers::worker_command(library, kDecoderMode, kDecoderPolicy));
  return Peer{library,        std::move(worker.command),    std::move(worker.environment),
              kDecoderPolicy, Json{{"mode", kDecoderMode}}, case_name};
}

}  // namespace sluice::visit
