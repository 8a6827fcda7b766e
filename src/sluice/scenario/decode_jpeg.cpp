// sluice/scenario/decode_jpeg.cpp - encoded files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

class DecodeSubject final : public ItemSubject {
 public:
  DecodeSubject(std::vector<EncodedFile> files, double bytes_per_item, int threads)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        bytes_per_item_(bytes_per_item),
        outputs_(files_.size()),
        decoders_(workers()) {}

  /// A reused decoder must give what a new one gives.
  Result<std::string> check() override {
    run_pass();
    image::Image fresh;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SLUICE_CHECK(image::decode(fresh, files_[i].bytes));
      if (digest_of({&fresh, 1}) != digest_of({&outputs_[i], 1})) {
        return Error{Errc::measurement,
                     files_[i].name + ": a reused decoder gives other pixels than a new one"};
      }
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
  double bytes_per_item_;
  std::vector<image::Image> outputs_;
  std::vector<image::Decoder> decoders_;
};

Result<double> mean_decoded_bytes(const std::vector<EncodedFile>& files) {
  double bytes = 0;
  for (const EncodedFile& file : files) {
    auto info = image::read_info(file.bytes);
    if (!info) return named(file.name, info.error()).error();
    bytes += 3.0 * info->width * info->height;
  }
  return bytes / static_cast<double>(files.size());
}

}  // namespace

Scenario decode_jpeg() {
  Scenario scenario;
  scenario.name = "decode/jpeg";
  scenario.doc = "JPEG files in memory to RGB u8, full size.";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files(context.data_dir));
    SLUICE_TRY(const double bytes, mean_decoded_bytes(files));
    return std::unique_ptr<measure::Subject>(
        std::make_unique<DecodeSubject>(std::move(files), bytes, context.threads));
  };
  return scenario;
}

}  // namespace sluice::scenario
