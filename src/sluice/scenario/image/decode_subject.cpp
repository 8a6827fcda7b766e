// sluice/scenario/image/decode_subject.cpp - encoded files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/image/decode_subject.h"

#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/item_subject.h"

#include <algorithm>

namespace sluice::scenario {
namespace {

constexpr std::size_t kEncodedAgain = 32;  // files; more would only make preparing slow

class DecodeSubject final : public ItemSubject {
 public:
  DecodeSubject(std::vector<EncodedFile> files, ReferenceDecode reference, double bytes_per_item,
                int threads)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        reference_(reference),
        bytes_per_item_(bytes_per_item),
        outputs_(files_.size()),
        decoders_(workers()) {}

  Result<std::string> check() override {
    run_pass();
    image::Image expected;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SLUICE_CHECK(named(files_[i].name, reference_(expected, files_[i].bytes)));
      if (digest_of({&expected, 1}) != digest_of({&outputs_[i], 1}))
        return Error{Errc::measurement,
                     printable(files_[i].name) + ": other pixels than those of the reference"};
    }
    return digest_of(outputs_);
  }
  [[nodiscard]] double bytes_per_item() const override { return bytes_per_item_; }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    require(
        named(files_[index].name, decoders_[worker].decode(outputs_[index], files_[index].bytes)));
  }

 private:
  std::vector<EncodedFile> files_;
  ReferenceDecode reference_;
  double bytes_per_item_;
  std::vector<image::Image> outputs_;
  std::vector<image::Decoder> decoders_;
};

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

Status encode_again(EncodedFile& file, image::Format format) {
  image::Image pixels;
  SLUICE_CHECK(named(file.name, image::decode(pixels, file.bytes)));
  return named(file.name, encode_as(file.bytes, pixels, format));
}

}  // namespace

Result<std::vector<EncodedFile>> read_files_as(const std::filesystem::path& data_dir,
                                               image::Format format) {
  SLUICE_TRY(std::vector<EncodedFile> files, read_files(data_dir));
  std::vector<EncodedFile> wanted;
  for (EncodedFile& file : files) {
    const auto found = image::sniff(file.bytes);
    if (found && *found == format) wanted.push_back(std::move(file));
  }
  if (!wanted.empty()) return wanted;
  files.resize(std::min(files.size(), kEncodedAgain));
  std::vector<Status> done(files.size(), ok);
  ThreadPool pool(usable_cores());
  pool.parallel_for(files.size(),
                    [&](std::size_t i, unsigned) { done[i] = encode_again(files[i], format); });
  for (const Status& status : done)
    SLUICE_CHECK(Status(status));
  return files;
}

Result<std::unique_ptr<measure::Subject>> make_decode_subject(std::vector<EncodedFile> files,
                                                              ReferenceDecode reference,
                                                              int threads) {
  double bytes = 0;
  for (const EncodedFile& file : files) {
    auto info = image::read_info(file.bytes);
    if (!info) return named(file.name, info.error()).error();
    bytes += 3.0 * info->width * info->height;
  }
  return std::unique_ptr<measure::Subject>(std::make_unique<DecodeSubject>(
      std::move(files), reference, bytes / static_cast<double>(files.size()), threads));
}

}  // namespace sluice::scenario
