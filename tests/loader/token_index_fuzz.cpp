// tests/loader/token_index_fuzz.cpp - libFuzzer: any bytes as tokens.json are an index that is
// written and read again as it is, or refused in one line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/token_index.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;  // NOLINT(google-build-using-namespace): one function
  const auto json =
      parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "tokens.json");
  if (!json) return 0;
  const auto index = loader::token_index_from_json(*json, "tokens.json");
  if (!index) {
    if (index.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (index->vocabulary == 0 || index->shards.empty()) std::abort();
  for (const auto& shard : index->shards)
    if (shard.name.find('/') != std::string::npos || shard.tokens > index->tokens()) std::abort();
  const auto again = loader::token_index_from_json(loader::to_json(*index), "tokens.json");
  if (!again || again->shards != index->shards || again->vocabulary != index->vocabulary)
    std::abort();
  return 0;
}
