// sluice/loader/recipe/numbers.cpp - values of an array, one after the other, into three planes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/numbers.h"

#include "sluice/image/npy.h"
#include "sluice/loader/recipe/photo_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::loader {
namespace {

constexpr int kPatch = 16;  // of the presets: what an error proposes is a multiple of it

class Numbers final : public Recipe {
 public:
  explicit Numbers(const NumbersOptions& options) : side_(options.side) {}

  [[nodiscard]] OutputSpec output() const override {
    return {side_, side_, 3, BatchType::f32, Layout::chw};
  }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<RecipeScratch>();
  }
  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey&,
             RecipeContext& context) const override {
    context.clock.enter(Stage::decode);
    SLUICE_TRY(const image::NpyArray array, image::parse_npy(as_image_bytes(encoded)));
    const bool bytes = array.dtype == image::DType::u8;
    const std::size_t values = array.data.size() / (bytes ? 1 : sizeof(float));
    const std::size_t room = out.size() / sizeof(float);
    if (values > room)
      return Error{Errc::invalid_input,
                   fmt::format("an array of {} values; a model of {} x {} takes {}, --image-size "
                               "{} takes them all",
                               values, side_, side_, room, side_for(values, kPatch))};
    context.clock.enter(Stage::collate);
    auto* const to = reinterpret_cast<float*>(out.data());
    if (bytes)
      std::transform(array.data.begin(), array.data.end(), to, [](std::uint8_t value) {
        return static_cast<float>(value) * (2.0F / 255) - 1;
      });
    else
      std::memcpy(to, array.data.data(), array.data.size());
    if (!bytes && !std::all_of(to, to + values, [](float value) { return std::isfinite(value); }))
      return Error{Errc::invalid_input, "an array with a value that is not finite"};
    std::fill(to + values, to + room, 0.0F);
    return ok;
  }
  [[nodiscard]] Json describe() const override {
    return Json{{"name", "numbers"}, {"side", side_}, {"type", "f32"}, {"layout", "chw"}};
  }

 private:
  int side_;
};

}  // namespace

int side_for(std::size_t values, int patch) {
  int side = patch;
  while (3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side) < values)
    side += patch;
  return side;
}

Result<std::shared_ptr<const Recipe>> make_numbers(const NumbersOptions& options) {
  SLUICE_CHECK(check_side("side", options.side));
  return std::shared_ptr<const Recipe>(std::make_shared<Numbers>(options));
}

}  // namespace sluice::loader
