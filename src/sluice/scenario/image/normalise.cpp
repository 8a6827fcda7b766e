// sluice/scenario/image/normalise.cpp - 256 x 256 RGB u8 images to normalised f32 planes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/normalize.h"
#include "sluice/scenario/batch.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

constexpr int kNormaliseSide = 256;
constexpr float kNormaliseTolerance = 1e-5F;  // image/normalize.h: fused or not, well under this

class NormaliseSubject final : public ItemSubject {
 public:
  NormaliseSubject(std::vector<image::Image> inputs, PlanarBatch output, int threads)
      : ItemSubject(inputs.size(), threads),
        inputs_(std::move(inputs)),
        output_(std::move(output)) {}

  Result<std::string> check() override {
    run_pass();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      SLUICE_CHECK(check_normalised(output_.item(i), inputs_[i].view<std::uint8_t>(), i,
                                    kNormaliseTolerance));
    }
    return digest_of(output_.all());
  }
  [[nodiscard]] double bytes_per_item() const override {
    return sizeof(float) * 3.0 * kNormaliseSide * kNormaliseSide;
  }

 protected:
  void run_item(std::size_t index, unsigned) override {
    require(
        image::normalize_chw(output_.item(index), inputs_[index].view<std::uint8_t>(), constants_));
  }

 private:
  std::vector<image::Image> inputs_;
  PlanarBatch output_;
  image::Normalization constants_ = image::Normalization::imagenet();
};

}  // namespace

Scenario normalise() {
  Scenario scenario;
  scenario.name = "normalise/chw";
  scenario.doc = "256 x 256 RGB u8 to f32 planes, (x / 255 - mean) / std.";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto inputs, square_images(context.data_dir, kNormaliseSide));
    SLUICE_TRY(auto output, PlanarBatch::make(inputs.size(), kNormaliseSide));
    return std::unique_ptr<measure::Subject>(
        std::make_unique<NormaliseSubject>(std::move(inputs), std::move(output), context.threads));
  };
  return scenario;
}

}  // namespace sluice::scenario
