// sluice/loader/gpu/recipe_records.cpp - looks at the markers, asks the router, copies or decodes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/recipe_records.h"

#include "sluice/loader/gpu/sample_draw.h"

#include <chrono>
#include <cstring>

namespace sluice::loader::gpu {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::int64_t ns_since(SteadyClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - begin).count();
}

class Records final : public Recipe {
 public:
  Records(const ThreeAugmentOptions& options, std::shared_ptr<LaneRouter> router)
      : options_(options), router_(std::move(router)) {}

  [[nodiscard]] OutputSpec output() const override { return record_output(options_.side); }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<PhotoScratch>();
  }

  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    const auto begin = SteadyClock::now();
    context.clock.enter(Stage::decode);
    JpegLook look;
    bool large = false;
    if (router_->policy() != LanePolicy::cpu) {
      look = look_at_jpeg(as_image_bytes(encoded));
      large =
          look.refusal == Refusal::none && (encoded.size() > jpeg_room(options_.side) ||
                                            std::int64_t{look.width} * look.height > kMostPixels);
      if (look.refusal == Refusal::none && !large && router_->take()) {
        context.clock.enter(Stage::collate);
        keep_encoded(out, encoded, key, look);
        router_->made_for_gpu(ns_since(begin));
        return ok;
      }
    } else {
      look.refusal = Refusal::none;  // not asked
    }
    SLUICE_CHECK(make_pixels(out, encoded, options_, key,
                             static_cast<PhotoScratch&>(context.scratch), context.clock,
                             context.stop));
    router_->made_by_cpu(ns_since(begin), look.refusal, large);
    return ok;
  }

  [[nodiscard]] Json describe() const override {
    Json json = loader::describe(options_);
    json["lanes"] = to_string(router_->policy());
    return json;
  }

 private:
  void keep_encoded(std::span<std::byte> out, std::span<const std::byte> encoded,
                    const SampleKey& key, const JpegLook& look) const {
    std::memcpy(out.data(), encoded.data(), encoded.size());
    SampleRecord record;
    record.lane = Lane::encoded;
    record.bytes = static_cast<std::uint32_t>(encoded.size());
    record.width = look.width;
    record.height = look.height;
    record.draw =
        sample_draw(options_, key, draw_three_augment(options_, key, look.width, look.height));
    write_record(out, options_.side, record);
  }

  ThreeAugmentOptions options_;
  std::shared_ptr<LaneRouter> router_;
};

}  // namespace

Result<std::shared_ptr<const Recipe>> make_records(const ThreeAugmentOptions& options,
                                                   std::shared_ptr<LaneRouter> router) {
  SLUICE_CHECK(check(options));
  return std::shared_ptr<const Recipe>(std::make_shared<Records>(options, std::move(router)));
}

Status make_pixels(std::span<std::byte> place, std::span<const std::byte> encoded,
                   const ThreeAugmentOptions& options, const SampleKey& key, PhotoScratch& scratch,
                   StageClock& clock, const std::atomic<bool>* stop) {
  SLUICE_TRY(const image::ImageInfo info,
             scratch.decoder.open(as_image_bytes(encoded), {.stop = stop}));
  const ThreeAugmentDraw draw = draw_three_augment(options, key, info.width, info.height);
  SLUICE_CHECK(scratch.decoder.read_region(scratch.decoded, draw.part));
  SLUICE_CHECK(scratch.resize_and_place(place.first(pixel_bytes(options.side)),
                                        {options.side, options.side, 3, BatchType::u8, Layout::hwc},
                                        options.filter, options.normalization, draw.mirrored,
                                        clock));
  SampleRecord record;
  record.draw = sample_draw(options, key, draw);
  write_record(place, options.side, record);
  return ok;
}

}  // namespace sluice::loader::gpu
