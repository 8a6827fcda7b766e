// sluice/scenario/image/pipeline.cpp - decode, resize, normalise, batch: what a loader does for
// every image.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/codec.h"
#include "sluice/image/normalize.h"
#include "sluice/image/resize/resize.h"
#include "sluice/scenario/batch.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

constexpr int kPipelineSide = 224;

/// What one thread needs: nothing is allocated once the largest file has passed.
struct PipelineLane {
  image::Decoder decoder;
  image::BilinearResizer resizer;
  image::Image decoded;
  image::Image resized;
};

class PipelineSubject final : public ItemSubject {
 public:
  PipelineSubject(std::vector<EncodedFile> files, PlanarBatch output, int threads)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        output_(std::move(output)),
        lanes_(workers()) {}

  Result<std::string> check() override {
    run_pass();
    image::Image decoded;
    SLUICE_TRY(image::Image resized, image::Image::make(kPipelineSide, kPipelineSide, 3));
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SLUICE_CHECK(image::decode(decoded, files_[i].bytes));
      image::resize_bilinear_reference(resized.span<std::uint8_t>(), decoded.view<std::uint8_t>());
      SLUICE_CHECK(
          check_normalised(output_.item(i), resized.view<std::uint8_t>(), i, kResizedTolerance));
    }
    return digest_of(output_.all());
  }
  [[nodiscard]] double bytes_per_item() const override {
    return sizeof(float) * 3.0 * kPipelineSide * kPipelineSide;
  }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    PipelineLane& lane = lanes_[worker];
    require(named(files_[index].name, lane.decoder.decode(lane.decoded, files_[index].bytes)));
    require(lane.resized.resize_for(kPipelineSide, kPipelineSide, 3));
    require(lane.resizer.run(lane.resized.span<std::uint8_t>(), lane.decoded.view<std::uint8_t>()));
    require(
        image::normalize_chw(output_.item(index), lane.resized.view<std::uint8_t>(), constants_));
  }

 private:
  std::vector<EncodedFile> files_;
  PlanarBatch output_;
  std::vector<PipelineLane> lanes_;
  image::Normalization constants_ = image::Normalization::imagenet();
};

}  // namespace

Scenario pipeline() {
  Scenario scenario;
  scenario.name = "pipeline/batch";
  scenario.doc = "JPEG files in memory to one batch of f32 3 x 224 x 224 images.";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files(context.data_dir));
    SLUICE_TRY(auto output, PlanarBatch::make(files.size(), kPipelineSide));
    return std::unique_ptr<measure::Subject>(
        std::make_unique<PipelineSubject>(std::move(files), std::move(output), context.threads));
  };
  return scenario;
}

}  // namespace sluice::scenario
