// sluice/scenario/image/train_crop.cpp - what training asks of a photograph: a random part, 224 x
// 224, maybe mirrored, normalised. Only that part is decoded.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/train_crop.h"

#include "sluice/image/codec.h"
#include "sluice/image/normalize.h"
#include "sluice/image/resize/resize.h"
#include "sluice/scenario/batch.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace sluice::scenario {
namespace {

constexpr int kCropSide = 224;
constexpr std::size_t kCropFloats = std::size_t{3} * kCropSide * kCropSide;
constexpr std::size_t kCropSlots = 8;  // outputs per thread, as in the micro rows
constexpr std::size_t kCheckedCrops = 8;
// Of the scaled mode, which computes something else: mean over an image, in units of the output.
constexpr double kScaledTolerance = 0.25;

loader::SampleKey key_of(std::size_t item) {
  loader::SampleKey key;
  key.index = item;
  return key;
}

struct CropLane {
  explicit CropLane(const loader::Recipe& recipe) : scratch(recipe.make_scratch()) {}

  std::unique_ptr<loader::RecipeScratch> scratch;
  SystemClock system_clock;
  loader::WorkerCounters counters;
  loader::StageClock clock{system_clock, counters};
  std::vector<float> outputs = std::vector<float>(kCropSlots * kCropFloats);
  std::size_t next = 0;
};

class TrainCropSubject final : public ItemSubject {
 public:
  TrainCropSubject(std::vector<EncodedFile> files, int threads,
                   std::shared_ptr<const loader::Recipe> recipe,
                   const loader::TrainCropOptions& options)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        recipe_(std::move(recipe)),
        options_(options),
        scaled_(options.dct_scaled) {
    for (unsigned i = 0; i < workers(); ++i)
      lanes_.push_back(std::make_unique<CropLane>(*recipe_));
  }

  /// The first images against decoding the whole file and the plain steps.
  Result<std::string> check() override {
    for (std::size_t i = 0; i < std::min(kCheckedCrops, files_.size()); ++i) {
      const std::span<const float> got = run_one(i, *lanes_[0]);
      SLUICE_TRY(const std::vector<float> want, reference(i));
      double worst = 0, sum = 0;
      for (std::size_t k = 0; k < kCropFloats; ++k) {
        const double off = std::abs(static_cast<double>(got[k]) - want[k]);
        worst = std::max(worst, off >= 0 ? off : 1e9);
        sum += off;
      }
      const double mean = sum / static_cast<double>(kCropFloats);
      if (scaled_ ? !(mean <= kScaledTolerance) : worst > kResizedTolerance)
        return Error{Errc::measurement, fmt::format("{}: {:g} from the reference at most, {:g} in "
                                                    "the mean",
                                                    files_[i].name, worst, mean)};
    }
    return std::string(scaled_ ? "near the reference in the mean"
                               : "within 1 level of the reference");
  }
  [[nodiscard]] double bytes_per_item() const override { return sizeof(float) * kCropFloats; }
  [[nodiscard]] Json output_info() const override {
    Json info{{"shape", {3, kCropSide, kCropSide}}, {"dtype", "float32"}};
    info["decode"] = !scaled_       ? "exact"
                     : any_scaled() ? "DCT-scaled"
                                    : "exact: no image is large enough to be scaled";
    return info;
  }

 protected:
  void run_item(std::size_t index, unsigned worker) override { run_one(index, *lanes_[worker]); }

 private:
  std::span<const float> run_one(std::size_t index, CropLane& lane) {
    const std::span<float> output(lane.outputs.data() + lane.next % kCropSlots * kCropFloats,
                                  kCropFloats);
    ++lane.next;
    loader::RecipeContext context{*lane.scratch, lane.clock};
    require(named(files_[index].name, recipe_->run(std::as_writable_bytes(output),
                                                   std::as_bytes(std::span(files_[index].bytes)),
                                                   key_of(index), context)));
    return output;
  }

  [[nodiscard]] bool any_scaled() const {
    return std::any_of(files_.begin(), files_.end(), [this](const EncodedFile& file) {
      const auto info = image::read_info(file.bytes);
      if (!info) return false;
      const auto item = static_cast<std::size_t>(&file - files_.data());
      const image::Rect part =
          loader::draw_train_crop(options_, key_of(item), info->width, info->height).part;
      return image::smallest_scale(part.width, part.height, kCropSide, kCropSide) !=
             image::DctScale::full;
    });
  }

  Result<std::vector<float>> reference(std::size_t index) const {
    image::Image whole;
    SLUICE_CHECK(image::decode(whole, files_[index].bytes));
    const loader::TrainCropDraw draw =
        loader::draw_train_crop(options_, key_of(index), whole.width(), whole.height());
    SLUICE_TRY(image::Image resized, image::Image::make(kCropSide, kCropSide, 3));
    image::resize_bilinear_reference(
        resized.span<std::uint8_t>(),
        whole.view<std::uint8_t>().crop(draw.part.x, draw.part.y, draw.part.width,
                                        draw.part.height));
    std::vector<float> plain(kCropFloats);
    SLUICE_CHECK(image::normalize_chw_reference(plain, resized.view<std::uint8_t>(),
                                                options_.normalization, draw.mirrored));
    return plain;
  }

  std::vector<EncodedFile> files_;
  std::shared_ptr<const loader::Recipe> recipe_;
  loader::TrainCropOptions options_;
  std::vector<std::unique_ptr<CropLane>> lanes_;
  bool scaled_;
};

Scenario train_crop_of(const char* name, const char* doc, bool scaled) {
  Scenario scenario;
  scenario.name = name;
  scenario.doc = doc;
  scenario.threads_axis = false;
  if (scaled) scenario.kind = Kind::decode;  // the tour has the exact one
  scenario.make =
      [scaled](
          const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files(context.data_dir));
    loader::TrainCropOptions options;
    options.side = kCropSide;
    options.dct_scaled = scaled;
    SLUICE_TRY(auto recipe, loader::make_train_crop(options));
    return std::unique_ptr<measure::Subject>(std::make_unique<TrainCropSubject>(
        std::move(files), context.threads, std::move(recipe), options));
  };
  return scenario;
}

}  // namespace

std::vector<Scenario> train_crop() {
  return {
      train_crop_of("pipeline/rrc224",
                    "JPEG in memory to RandomResizedCrop 224, flip, normalised f32 CHW; only "
                    "the part is decoded, exactly.",
                    false),
      train_crop_of("pipeline/rrc224-scaled",
                    "The same, the part decoded at the smallest DCT scale that suffices.", true)};
}

}  // namespace sluice::scenario
