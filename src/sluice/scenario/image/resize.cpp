// sluice/scenario/image/resize.cpp - decoded images to 256 x 256, bilinear.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/resize.h"

#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace sluice::scenario {
namespace {

constexpr int kResizeSide = 256;
constexpr int kResizeTolerance =
    1;  // image/resize/resize.h: fast and reference differ by at most 1

class ResizeSubject final : public ItemSubject {
 public:
  ResizeSubject(std::vector<image::Image> inputs, std::vector<image::Image> outputs, int threads)
      : ItemSubject(inputs.size(), threads),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        resizers_(workers()) {}

  Result<std::string> check() override {
    run_pass();
    SLUICE_TRY(image::Image reference, image::Image::make(kResizeSide, kResizeSide, 3));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      image::resize_bilinear_reference(reference.span<std::uint8_t>(),
                                       inputs_[i].view<std::uint8_t>());
      const auto want = reference.view<std::uint8_t>();
      const auto got = outputs_[i].view<std::uint8_t>();
      int worst = 0;
      for (std::size_t k = 0; k < want.samples(); ++k)
        worst = std::max(worst, std::abs(want.data()[k] - got.data()[k]));
      if (worst > kResizeTolerance) {
        return Error{Errc::measurement, fmt::format("image {}: {} from the reference, {} allowed",
                                                    i, worst, kResizeTolerance)};
      }
    }
    return digest_of(outputs_);
  }
  [[nodiscard]] double bytes_per_item() const override { return 3.0 * kResizeSide * kResizeSide; }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    require(resizers_[worker].run(outputs_[index].span<std::uint8_t>(),
                                  inputs_[index].view<std::uint8_t>()));
  }

 private:
  std::vector<image::Image> inputs_;
  std::vector<image::Image> outputs_;
  std::vector<image::BilinearResizer> resizers_;
};

}  // namespace

Scenario resize() {
  Scenario scenario;
  scenario.name = "resize/bilinear";
  scenario.doc = "Decoded RGB u8 images to 256 x 256, bilinear, no antialiasing.";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto inputs, decode_files(context.data_dir));
    std::vector<image::Image> outputs(inputs.size());
    for (image::Image& output : outputs)
      SLUICE_CHECK(output.resize_for(kResizeSide, kResizeSide, 3));
    return std::unique_ptr<measure::Subject>(
        std::make_unique<ResizeSubject>(std::move(inputs), std::move(outputs), context.threads));
  };
  return scenario;
}

}  // namespace sluice::scenario
