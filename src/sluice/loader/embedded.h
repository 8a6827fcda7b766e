// sluice/loader/embedded.h - the files of configs/presets, which the build puts into the program
// (cmake/SluiceEmbed.cmake).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::loader {

struct EmbeddedFile {
  const char* name;
  const unsigned char* bytes;
  std::size_t size;
};
extern const EmbeddedFile kEmbedded[];
extern const std::size_t kEmbeddedCount;

}  // namespace sluice::loader
