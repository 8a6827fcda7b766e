// tests/image/npy_fuzz.cpp - libFuzzer: any bytes are an array or are refused; what is read is read
// again from what is written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/npy.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::image;  // NOLINT(google-build-using-namespace): one function
  const Bytes bytes(data, size);
  static Image image;
  const bool is_image = decode_npy(image, bytes).has_value();
  const auto array = parse_npy(bytes);
  if (is_image && !array) std::abort();
  if (!array) return 0;
  std::vector<std::uint8_t> written;
  if (!encode_npy(written, array->shape, array->dtype, array->data)) std::abort();
  const auto again = parse_npy(written);
  if (!again || again->shape != array->shape || again->data.size() != array->data.size())
    std::abort();
  return 0;
}
