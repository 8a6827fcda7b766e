// sluice/eval/data.cpp - embedded files by name, checked against their digests.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/data.h"

#include "sluice/core/sha256.h"
#include "sluice/eval/embedded.h"

#include <fmt/format.h>

#include <cassert>

namespace sluice::eval {
namespace {

struct Digest {
  std::string_view name;
  std::string_view sha256;
};

/// Fixed: other bytes are another set, which needs a name of its own.
constexpr Digest kDigests[] = {
    {"fixed_shard.txt", "873faddfcf05faec822e044ce37c9b13fe161f4521390358587e5aa538759629"},
    {"training_prose.txt", "af6d3a9137fb2c81adc4ea978fa9acb697b4e118d09202f74a8a0407beba9455"},
    {"training_examples_2.txt", "7e8d3ea321e5358efe5138ea7c4e03fcbcf7b17461c26577787cd9e34faa71d0"},
    {"merges.txt", "bcde3d75f04dbe62b6d22df9defd5e7ea0238d42ed2480f2a79d214d92f0fa21"},
    {"probes/basic_reasoning_25.json",
     "4b3e3a52296c1c8c0fcf2110de14521873d51d78749983d702c21f24f949d5e2"},
    {"probes/format_following_30.json",
     "9b62fea6332c57ec7c8846e1577c9c7cc4c9b1ea866ba6de5a2639da96199b88"},
    {"probes/code_sanity_20.json",
     "05c8dcb3b9f82b2a96b205b54a4125fde6c83b532a7befa80374f1a9ad048e63"},
    {"probes/engine_answers_40.json",
     "7499ed0a4ac19472de50fe6d8dcfcde45625d5d2320335e22aae712900c6e922"},
};

}  // namespace

std::string_view data_digest(std::string_view name) {
  for (const Digest& digest : kDigests)
    if (digest.name == name) return digest.sha256;
  assert(false);
  return {};
}

std::vector<std::string> data_files() {
  std::vector<std::string> out;
  for (const Digest& digest : kDigests)
    out.emplace_back(digest.name);
  return out;
}

Result<std::string_view> data_file(std::string_view name) {
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    const EmbeddedFile& file = kEmbedded[i];
    if (file.name != name) continue;
    const std::string_view text(reinterpret_cast<const char*>(file.bytes), file.size);
    const std::string found = sha256_hex(text);
    if (found != data_digest(name)) {
      return Error{
          Errc::internal,
          fmt::format("{}{}: this build holds {}; the file that belongs to it is {}", kDataFolder,
                      name, found.substr(0, 12), data_digest(name).substr(0, 12))};
    }
    return text;
  }
  return Error{Errc::not_found, fmt::format("{}{} is not in this build", kDataFolder, name)};
}

}  // namespace sluice::eval
