// tests/storage/example_proto_fuzz.cpp - libFuzzer: what any bytes say as a tf.train.Example lies
// inside them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/example_proto.h"

#include <cstdlib>
#include <functional>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  const std::span<const std::byte> message = std::as_bytes(std::span(data, size));
  const auto inside = [&](const void* at, std::size_t bytes) {
    if (bytes == 0) return;
    const auto* first = static_cast<const std::byte*>(at);
    if (std::less<>()(first, message.data()) || bytes > message.size() ||
        std::greater<>()(first + bytes, message.data() + message.size()))
      std::abort();
  };
  std::vector<ExampleFeature> features;
  if (!parse_example(features, message)) return 0;
  std::vector<std::string_view> texts;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  for (const ExampleFeature& feature : features) {
    inside(feature.name.data(), feature.name.size());
    inside(feature.list.data(), feature.list.size());
    if (read_bytes_list(texts, feature))
      for (const std::string_view text : texts)
        inside(text.data(), text.size());
    if (read_float_list(floats, feature) && floats.size() > size / 4) std::abort();
    if (read_int64_list(ints, feature) && ints.size() > size) std::abort();
    if (find_feature(features, feature.name) == nullptr) std::abort();
  }
  return 0;
}
