// tests/image/shared_inputs_fuzz.cpp - libFuzzer: no index, however hostile, gives a view outside
// its data.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/shared_inputs.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

constexpr std::size_t kDataBytes = 4096;

void write(const std::filesystem::path& path, const void* bytes, std::size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  if (size > 0 && std::fwrite(bytes, 1, size, file) != size) std::abort();
  std::fclose(file);
}

std::filesystem::path scratch() {
  auto folder = std::filesystem::temp_directory_path() /
                ("sluice-shared-inputs-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string zeros(kDataBytes, '\0');
  write(folder / "data", zeros.data(), zeros.size());
  return folder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path folder = scratch();
  write(folder / "index", data, size);
  const auto inputs = sluice::image::MappedInputs::open(folder / "index", folder / "data");
  if (!inputs) return 0;
  unsigned sum = 0;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    for (const std::uint8_t sample : inputs->samples(i))
      sum += sample;
    if (inputs->view(i, inputs->item(i).frames - 1).empty()) std::abort();
  }
  if (sum != 0) std::abort();  // the data are zeros
  return 0;
}
