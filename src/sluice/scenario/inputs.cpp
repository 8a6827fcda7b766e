// sluice/scenario/inputs.cpp - reading, decoding and resizing inputs, untimed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/inputs.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/codec.h"
#include "sluice/image/dataset.h"
#include "sluice/image/resize/resize.h"

#include <fmt/format.h>

#include <algorithm>
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

constexpr std::size_t kEncodedAgain = 32;  // files; more would only make preparing slow

Status encode_as(std::vector<std::uint8_t>& out, const image::Image& pixels, image::Format format) {
  const auto view = pixels.view<std::uint8_t>();
  switch (format) {
    case image::Format::jpeg:
      return image::encode_jpeg(out, view);
    case image::Format::png:
      return image::encode_png(out, view);
    case image::Format::webp:
      return image::encode_webp(out, view);
  }
  return Error{Errc::internal, "a format that is not handled"};
}

/// Those of `files` that are `wanted`; where there are none, the first ones, decoded and given to
/// `encode`.
template <typename Wanted, typename Encode>
Result<std::vector<EncodedFile>> chosen_or_again(std::vector<EncodedFile> files,
                                                 const Wanted& wanted, const Encode& encode) {
  std::vector<EncodedFile> chosen;
  for (EncodedFile& file : files) {
    if (wanted(file.bytes)) chosen.push_back(std::move(file));
  }
  if (!chosen.empty()) return chosen;
  files.resize(std::min(files.size(), kEncodedAgain));
  std::vector<Status> done(files.size(), ok);
  ThreadPool pool(usable_cores());
  pool.parallel_for(files.size(), [&](std::size_t i, unsigned) {
    image::Image pixels;
    done[i] = named(files[i].name, image::decode(pixels, files[i].bytes));
    if (done[i]) done[i] = named(files[i].name, encode(files[i].bytes, pixels));
  });
  for (const Status& status : done)
    SLUICE_CHECK(Status(status));
  return files;
}

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

Result<std::vector<EncodedFile>> read_files_as(const std::filesystem::path& data_dir,
                                               image::Format format) {
  SLUICE_TRY(std::vector<EncodedFile> files, read_files(data_dir));
  return chosen_or_again(
      std::move(files),
      [&](image::Bytes bytes) {
        const auto found = image::sniff(bytes);
        return found && *found == format;
      },
      [&](std::vector<std::uint8_t>& out, const image::Image& pixels) {
        return encode_as(out, pixels, format);
      });
}

Result<std::vector<EncodedFile>> read_progressive_files(const std::filesystem::path& data_dir) {
  SLUICE_TRY(std::vector<EncodedFile> files, read_files(data_dir));
  return chosen_or_again(
      std::move(files),
      [](image::Bytes bytes) {
        const auto info = image::read_info(bytes);
        return info && info->format == image::Format::jpeg && info->progressive;
      },
      [](std::vector<std::uint8_t>& out, const image::Image& pixels) {
        return image::encode_jpeg(out, pixels.view<std::uint8_t>(), {.progressive = true});
      });
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
