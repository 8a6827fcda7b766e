// sluice/scenario/inputs.cpp - reading, decoding and resizing inputs, untimed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/inputs.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/dataset.h"
#include "sluice/image/resize.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::scenario {
namespace {

/// FNV-1a over 64-bit words: fast enough for the output of a whole pass, and only ever compared
/// with itself.
class WordHash {
 public:
  void add(const void* data, std::size_t n) {
    const auto* bytes = static_cast<const std::byte*>(data);
    for (; n >= sizeof(std::uint64_t); n -= sizeof(std::uint64_t), bytes += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes, sizeof word);
      mix(word);
    }
    for (; n > 0; --n, ++bytes)
      mix(static_cast<std::uint64_t>(*bytes));
  }
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 1099511628211ULL;
    hash_ ^= hash_ >> 32;  // words, unlike bytes, would leave the low bits to themselves
  }
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace

Result<std::vector<EncodedFile>> read_files(const std::filesystem::path& data_dir) {
  SLUICE_TRY(const auto names, image::list_images(data_dir));
  std::vector<EncodedFile> files;
  files.reserve(names.size());
  for (const std::string& name : names) {
    SLUICE_TRY(auto bytes, read_binary_file(data_dir / name));
    files.push_back(EncodedFile{name, std::move(bytes)});
  }
  return files;
}

Result<std::vector<image::Image>> decode_files(const std::filesystem::path& data_dir) {
  SLUICE_TRY(const auto files, read_files(data_dir));
  std::vector<image::Image> images(files.size());
  image::Decoder decoder;
  for (std::size_t i = 0; i < files.size(); ++i) {
    SLUICE_CHECK(named(files[i].name, decoder.decode(images[i], files[i].bytes)));
  }
  return images;
}

Result<std::vector<image::Image>> square_images(const std::filesystem::path& data_dir, int side) {
  SLUICE_TRY(const auto decoded, decode_files(data_dir));
  std::vector<image::Image> squares(decoded.size());
  image::BilinearResizer resizer;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    SLUICE_CHECK(squares[i].resize_for(side, side, decoded[i].channels()));
    SLUICE_CHECK(resizer.run(squares[i].span<std::uint8_t>(), decoded[i].view<std::uint8_t>()));
  }
  return squares;
}

std::string digest_of(std::span<const image::Image> images) {
  WordHash hash;
  for (const image::Image& image : images) {
    const auto view = image.view<std::uint8_t>();
    for (int y = 0; y < view.height(); ++y)
      hash.add(view.row(y), view.row_bytes());
  }
  return hash.hex();
}

std::string digest_of(std::span<const float> values) {
  WordHash hash;
  hash.add(values.data(), values.size_bytes());
  return hash.hex();
}

Status named(const std::string& name, Status status) {
  if (status) return status;
  return Error{status.error().code, printable(name) + ": " + status.error().message};
}

}  // namespace sluice::scenario
