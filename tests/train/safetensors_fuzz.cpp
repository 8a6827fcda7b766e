// tests/train/safetensors_fuzz.cpp - no bytes crash the reader; what it accepts lies inside the
// file and is written back equal.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::train;
  const auto file = SafetensorsFile::parse({data, data + size}, "fuzz");
  if (!file) {
    if (file.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  std::size_t sum = 0;
  std::vector<SafetensorsTensor> layout;
  std::vector<std::vector<float>> values;
  for (const SafetensorsEntry& entry : file->entries()) {
    if (file->find(entry.name) != &entry) std::abort();
    sum += entry.end - entry.begin;
    const auto floats = file->floats(entry);
    if (!floats) continue;
    layout.push_back({entry.name, entry.dtype == "F32" ? Dtype::f32 : Dtype::bf16, entry.shape});
    values.push_back(*floats);
  }
  if (sum > size) std::abort();
  SafetensorsWriter writer(layout, file->metadata());
  for (const auto& one : values)
    writer.append(one);
  const std::string& bytes = writer.bytes();
  const auto again = SafetensorsFile::parse({bytes.begin(), bytes.end()}, "written");
  if (!again || again->entries().size() != layout.size()) std::abort();
  if (again->metadata() != file->metadata()) std::abort();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto back = again->floats(again->entries()[i]);
    if (!back || back->size() != values[i].size()) std::abort();
    const std::size_t count = values[i].size() * sizeof(float);
    // A signalling NaN in bf16 comes back quiet; F32 keeps every bit.
    if (layout[i].dtype == Dtype::f32 && count != 0 &&
        std::memcmp(back->data(), values[i].data(), count) != 0)
      std::abort();
  }
  return 0;
}
