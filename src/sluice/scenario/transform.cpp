// sluice/scenario/transform.cpp - a selection of transforms over decoded photographs: the tour. The
// whole sets beside other libraries are `sluice bench transforms`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/tolerance.h"

#include <fmt/format.h>

#include <array>

namespace sluice::scenario {
namespace {

/// One of each kind: memory-bound, crop and resize, warp, filter, colour, noise.
constexpr std::array kSelection = {"HorizontalFlip", "RandomResizedCrop", "Affine",
                                   "GaussianBlur",   "ColorJitter",       "GaussianNoise"};

/// The parameters of an item are drawn from its number: every pass does the same work.
class TransformSubject final : public ItemSubject {
 public:
  TransformSubject(std::unique_ptr<aug::Transform> transform, std::vector<image::Image> inputs,
                   int threads)
      : ItemSubject(inputs.size(), threads),
        transform_(std::move(transform)),
        inputs_(std::move(inputs)),
        outputs_(inputs_.size()),
        scratch_(workers()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Rng rng(RngKey{.index = i});
      draws_.push_back(transform_->sample(rng, shape(i)));
    }
  }

  Result<std::string> check() override {
    run_pass();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto got = outputs_[i].view<std::uint8_t>();
      SLUICE_TRY(image::Image want, image::Image::make(got.width(), got.height(), got.channels()));
      const auto dst = want.span<std::uint8_t>();
      const auto src = inputs_[i].view<std::uint8_t>();
      SLUICE_CHECK(transform_->apply_reference({{&dst, 1}, {&src, 1}}, draws_[i]));
      SLUICE_CHECK(within_tolerance<std::uint8_t>(
          fmt::format("image {}", i), got, want.view<std::uint8_t>(), transform_->spec().u8));
    }
    return digest_of(outputs_);
  }
  [[nodiscard]] double bytes_per_item() const override {
    double sum = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const aug::Shape out = transform_->output_shape(shape(i), draws_[i]);
      sum += static_cast<double>(out.width) * out.height * out.channels;
    }
    return sum / static_cast<double>(inputs_.size());
  }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    const aug::Shape out = transform_->output_shape(shape(index), draws_[index]);
    require(outputs_[index].resize_for(out.width, out.height, out.channels));
    const auto dst = outputs_[index].span<std::uint8_t>();
    const auto src = inputs_[index].view<std::uint8_t>();
    require(transform_->apply({{&dst, 1}, {&src, 1}}, draws_[index], scratch_[worker]));
  }

 private:
  [[nodiscard]] aug::Shape shape(std::size_t index) const {
    return aug::shape_of(inputs_[index].view<std::uint8_t>());
  }

  std::unique_ptr<aug::Transform> transform_;
  std::vector<image::Image> inputs_;
  std::vector<image::Image> outputs_;
  std::vector<aug::Scratch> scratch_;
  std::vector<aug::Draw> draws_;
};

}  // namespace

std::vector<Scenario> transforms() {
  std::vector<Scenario> list;
  for (const char* name : kSelection) {
    const aug::TransformSpec* spec = aug::find(name);
    if (spec == nullptr) continue;
    Scenario scenario;
    scenario.name = std::string("transform/") + name;
    scenario.doc = "Decoded RGB u8 images. " + spec->doc;
    scenario.threads_axis = false;
    scenario.make =
        [spec](
            const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
      SLUICE_TRY(auto inputs, decode_files(context.data_dir));
      SLUICE_TRY(auto transform, spec->make(Json::object()));
      return std::unique_ptr<measure::Subject>(std::make_unique<TransformSubject>(
          std::move(transform), std::move(inputs), context.threads));
    };
    list.push_back(std::move(scenario));
  }
  return list;
}

}  // namespace sluice::scenario
