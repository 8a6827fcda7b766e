// tests/image/image_fuzz.cpp - libFuzzer: any bytes decode or are refused, with every switch,
// within small limits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// The first byte of the hash of the input picks the switches, so that one corpus serves all of
// them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::image;  // NOLINT(google-build-using-namespace): one function
  const Bytes bytes(data, size);
  unsigned mix = 0;
  for (const std::uint8_t byte : bytes)
    mix = mix * 31 + byte;
  DecodeOptions options;
  options.exif = (mix & 1) != 0;
  options.allow_truncated = (mix & 2) != 0;
  options.max_pixels = 1 << 18;
  options.max_scans = 20;
  options.max_seconds = 2;
  static Decoder decoder;  // reused on purpose: state must not leak from file to file
  static Image image;
  const auto info = decoder.read_info(bytes, options);
  const auto status = decoder.decode(image, bytes, options);
  if (status && !info) std::abort();
  if (status) {
    const auto view = image.view<std::uint8_t>();
    unsigned sum = 0;  // reads every sample: memory checkers see what was not written
    for (int y = 0; y < view.height(); ++y)
      for (std::size_t i = 0; i < view.row_samples(); ++i)
        sum += view.row(y)[i];
    if (sum == 0xFFFFFFFF) std::abort();
  }
  return 0;
}
