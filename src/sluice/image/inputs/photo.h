// sluice/image/inputs/photo.h - synthetic photographs: the same seed gives the same bytes on any
// machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::image {

/// Width, height and JPEG quality that photograph `index` of `seed` has: around 500x375 in both
/// orientations, 85 to 95.
struct PhotoSpec {
  int width = 0;
  int height = 0;
  int quality = 90;
};
PhotoSpec photo_spec(std::uint64_t seed, std::uint64_t index);

/// Images with the statistics that decoders and transforms feel: occluding shapes over a background
/// (edges, flat regions, gradients), 1/f texture inside them, grain over all. Integer arithmetic
/// only: nothing depends on the machine, and libjpeg-turbo's islow encoder does not either. Keeps
/// its buffers: reuse one per thread.
class PhotoMaker {
 public:
  PhotoMaker();
  ~PhotoMaker();
  PhotoMaker(PhotoMaker&&) noexcept;
  PhotoMaker& operator=(PhotoMaker&&) noexcept;

  /// u8 RGB of the size in `spec`, at least 16x16.
  Status make(Image& out, std::uint64_t seed, std::uint64_t index, const PhotoSpec& spec);
  /// make() and 4:2:0 JPEG at the quality in `spec`. The hashes of eight files are in
  /// tests/image/photo_test.cpp.
  Status make_jpeg(std::vector<std::uint8_t>& out, std::uint64_t seed, std::uint64_t index,
                   const PhotoSpec& spec);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One-shot form with the spec that (seed, index) implies.
Result<Image> make_photo(std::uint64_t seed, std::uint64_t index);

}  // namespace sluice::image
