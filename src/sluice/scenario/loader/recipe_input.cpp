// sluice/scenario/loader/recipe_input.cpp - opens files or shared inputs as a data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/recipe_input.h"

#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/video.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/scenario/loader/subset_dataset.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice::scenario {
namespace {

/// Decoded items as samples; the recipe reads their pixels where they are.
class DecodedDataset final : public loader::Dataset {
 public:
  explicit DecodedDataset(std::shared_ptr<const MicroInputs> inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] std::uint64_t size() const override { return inputs_->size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return fmt::format("item {}", index);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t) const override { return -1; }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    const auto at = static_cast<std::size_t>(index);
    return inputs_->view(at).samples() * static_cast<std::uint64_t>(inputs_->frames(at));
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    const auto view = inputs_->view(static_cast<std::size_t>(index));  // of a clip: frame 0
    return std::as_bytes(std::span(view.data(), view.samples()));
  }
  void cancel() const override {}

 private:
  std::shared_ptr<const MicroInputs> inputs_;
  std::vector<std::uint64_t> starts_{0};
};

Result<std::shared_ptr<const MicroInputs>> shared_pixels(const measure::SubjectContext& context) {
  if (context.inputs_index.empty())
    return Error{Errc::usage, "no inputs are loaded: `load` with `inputs` comes first"};
  SLUICE_TRY(auto inputs,
             MicroInputs::open(context.inputs_index, context.inputs_data, context.num_items));
  return std::make_shared<const MicroInputs>(std::move(inputs));
}

/// The images or clips of the folder in order, without those known to be damaged, the first
/// `num_items`.
Result<std::shared_ptr<const loader::Dataset>> files_of(const measure::SubjectContext& context,
                                                        bool clips) {
  if (context.data_dir.empty())
    return Error{Errc::usage, "no data is loaded: `load` with `data_dir` comes first"};
  storage::StoreOptions where;
  where.input = context.data_dir.string();
  SLUICE_TRY(auto store, storage::open_store(where));
  loader::DatasetOptions options;
  options.kind = clips ? loader::DatasetKind::clips : loader::DatasetKind::images;
  options.sizes = true;
  SLUICE_TRY(auto all, loader::open_dataset(std::move(store), options));
  const std::uint64_t most =
      context.num_items > 0 ? static_cast<std::uint64_t>(context.num_items) : all->size();
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < all->size() && chosen.size() < most; ++i)
    if (std::ranges::find(context.skip, all->name(i)) == context.skip.end()) chosen.push_back(i);
  if (chosen.empty())
    return Error{Errc::invalid_input, fmt::format("every {} of the folder is known to be damaged",
                                                  clips ? "clip" : "image")};
  return std::shared_ptr<const loader::Dataset>(
      std::make_shared<SubsetDataset>(std::move(all), std::move(chosen)));
}

void copy_channels(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src) {
  for (int y = 0; y < dst.height(); ++y)
    for (int x = 0; x < dst.width(); ++x)
      for (int c = 0; c < dst.channels(); ++c)
        dst.at(x, y, c) = src.at(x, y, c % src.channels());
}

Status decode_whole(std::vector<image::Image>& out, image::Bytes bytes, const RecipeSpec& spec) {
  if (spec.frames == 0) return image::decode(out.emplace_back(), bytes);
  image::VideoClip clip;
  image::VideoOptions options;
  options.sequential = true;
  SLUICE_CHECK(image::decode_clip(clip, bytes, spec.frames, options));
  for (int f = 0; f < clip.frames(); ++f) {
    SLUICE_TRY(image::Image frame, image::Image::make(clip.width(), clip.height(), spec.channels));
    copy_channels(frame.span<std::uint8_t>(), std::as_const(clip).frame(f));
    out.push_back(std::move(frame));
  }
  return ok;
}

}  // namespace

std::function<image::ImageView<std::uint8_t>(std::uint64_t, int)> RecipeInput::decoded() const {
  if (pixels == nullptr) return {};
  return [kept = pixels](std::uint64_t index, int frame) {
    return kept->view(static_cast<std::size_t>(index), frame);
  };
}

Result<std::vector<image::Image>> RecipeInput::whole(std::uint64_t index, const RecipeSpec& spec,
                                                     storage::ReadBuffer& buffer) const {
  std::vector<image::Image> decoded, whole;
  std::vector<image::ImageView<std::uint8_t>> from;
  if (pixels != nullptr) {
    const auto at = static_cast<std::size_t>(index);
    for (int f = 0; f < pixels->frames(at); ++f)
      from.push_back(pixels->view(at, f));
  } else {
    SLUICE_TRY(const auto bytes, dataset->read(index, buffer));
    SLUICE_CHECK(decode_whole(
        decoded, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, spec));
    for (const image::Image& frame : decoded)
      from.push_back(frame.view<std::uint8_t>());
  }
  for (const image::ImageView<std::uint8_t>& frame : from) {
    SLUICE_TRY(image::Image made, image::Image::make(frame.width(), frame.height(), spec.channels));
    copy_channels(made.span<std::uint8_t>(), frame);
    whole.push_back(std::move(made));
  }
  return whole;
}

Result<RecipeInput> RecipeInputs::open(const RecipeSpec& spec,
                                       const measure::SubjectContext& context) {
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {}", context.synthetic, spec.channels, spec.frames,
                  spec.decodes, context.inputs_index.string(), context.data_dir.string(),
                  context.num_items, join(context.skip, "/"));
  if (key == key_) return input_;
  RecipeInput input;
  if (context.synthetic) {
    MicroCase one;
    one.channels = spec.channels;
    one.clips = spec.frames > 0;
    one.frames = std::max(1, spec.frames);
    SLUICE_TRY(auto made, MicroInputs::synthetic(one));
    input.pixels = std::make_shared<const MicroInputs>(std::move(made));
  } else if (spec.decodes) {
    SLUICE_TRY(input.dataset, files_of(context, spec.frames > 0));
  } else {
    SLUICE_TRY(input.pixels, shared_pixels(context));
  }
  if (input.pixels != nullptr) {
    for (std::size_t i = 0; i < input.pixels->size(); ++i)
      if (input.pixels->clips() != (spec.frames > 0) ||
          input.pixels->frames(i) != std::max(1, spec.frames) ||
          input.pixels->view(i).channels() != spec.channels)
        return Error{
            Errc::usage,
            spec.frames > 0
                ? fmt::format("loaded item {} is no clip of {} frames", i, spec.frames)
                : fmt::format("loaded item {} is no image of {} channels", i, spec.channels)};
    input.dataset = std::make_shared<DecodedDataset>(input.pixels);
  }
  input_ = std::move(input);
  key_ = key;
  return input_;
}

}  // namespace sluice::scenario
