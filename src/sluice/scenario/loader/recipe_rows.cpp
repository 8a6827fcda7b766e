// sluice/scenario/loader/recipe_rows.cpp - DataLoader rows of the matrix: a recipe over epochs of
// our loader.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/staged.h"
#include "sluice/scenario/batch.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/loader/copy_target.h"
#include "sluice/scenario/loader/kept_memory.h"
#include "sluice/scenario/loader/recipe_input.h"
#include "sluice/scenario/loader/recipe_spec.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace sluice::scenario {
namespace {

constexpr std::uint32_t kComparedImages = 3;  // samples compared with the reference
constexpr std::uint32_t kComparedClips = 1;   // all its frames
constexpr double kLevelRounding = 0.02;       // levels, of f32 after Normalize is taken back
constexpr int kSlots = 2;                     // one in use, one being made

class RecipeSubject final : public measure::Subject {
 public:
  RecipeSubject(RecipeSpec spec, RecipeInput input, std::shared_ptr<const loader::Staged> recipe,
                std::unique_ptr<CopyTarget> target)
      : spec_(std::move(spec)),
        input_(std::move(input)),
        recipe_(std::move(recipe)),
        target_(std::move(target)),
        sample_(recipe_->output().bytes()),
        scratch_(recipe_->make_scratch()) {}

  /// The first batch of an epoch: its first samples are what the references of the steps make of
  /// the whole images; its digest is the same in every process.
  Result<std::string> check() override {
    SLUICE_TRY(const auto loader, make_loader(0));
    SLUICE_TRY(const auto batch, loader->next());
    if (!batch) return Error{Errc::measurement, "the loader gave no batch"};
    const std::uint32_t count =
        std::min(spec_.frames > 0 ? kComparedClips : kComparedImages, batch->size());
    for (std::uint32_t i = 0; i < count; ++i)
      SLUICE_CHECK(named(input_.dataset->name(i), compare(i, batch->sample(i))));
    if (target_) SLUICE_CHECK(target_->check(batch->data()));
    const auto shape = batch->shape();
    shape_.assign(shape.begin(), shape.end());
    if (spec_.frames > 0) {  // the channels of the batch are frames and channels
      shape_.insert(shape_.begin() + 1, spec_.frames);
      shape_[2] /= spec_.frames;
    }
    Sha256 sha;
    sha.update(fmt::format("{} f32;", fmt::join(shape_, "x")));
    const auto bytes = batch->data();
    sha.update(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    return sha.hex();
  }

  /// One epoch: a loader is made, used up, and gone with its threads, all of it timed.
  void run_pass() override {
    auto loader = make_loader(epoch_);
    if (!loader) throw std::runtime_error(loader.error().message);
    std::uint64_t items = 0;
    while (true) {
      auto next = (*loader)->next();
      if (!next) throw std::runtime_error(next.error().message);
      if (!*next) break;
      const loader::Batch& batch = **next;
      if (target_)
        require(target_->take(batch.data()));
      else
        look_at(batch.data());
      items += batch.size();
      ++batches_;
    }
    if (items != input_.dataset->size())
      throw std::runtime_error(fmt::format("the epoch gave {} items, the data set has {}", items,
                                           input_.dataset->size()));
    ++epoch_;
  }
  void begin_sample() override { batches_ = 0; }
  [[nodiscard]] bool wants_more(std::int64_t elapsed_ns) const override {
    return elapsed_ns < spec_.min_time_ns || batches_ < spec_.min_batches;
  }

  /// Where one is made, without a loader.
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    const auto begin = static_cast<std::uint64_t>(first);
    const std::uint64_t end =
        std::min(input_.dataset->size(), begin + static_cast<std::uint64_t>(count));
    for (std::uint64_t i = begin; i < end; ++i)
      require(make_sample(i));
    return end > begin ? static_cast<std::int64_t>(end - begin) : 0;
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(input_.dataset->size());
  }
  [[nodiscard]] double bytes_per_item() const override {
    return static_cast<double>(recipe_->output().bytes());
  }
  [[nodiscard]] Json output_info() const override {
    return Json{{"shape", shape_}, {"dtype", "float32"}, {"recipe", recipe_->describe()}};
  }

 private:
  [[nodiscard]] Result<std::unique_ptr<loader::Loader>> make_loader(std::uint64_t epoch) const {
    loader::LoaderOptions options;
    options.batch_size = spec_.batch_size;
    options.workers = spec_.workers;
    options.prefetch = kSlots;
    options.seed = spec_.seed;
    options.shuffle = loader::Shuffle::none;
    options.drop_last = false;
    options.persistent_workers = false;
    options.next_epoch_ahead = false;
    options.pin_memory = true;
    options.pinned_allocator = target_ ? target_->pinned() : memory_;
    SLUICE_TRY(auto made, loader::Loader::make(input_.dataset, recipe_, options));
    SLUICE_CHECK(made->start_epoch(epoch));
    return made;
  }

  Status make_sample(std::uint64_t index) {
    SLUICE_TRY(const auto bytes, input_.dataset->read(index, buffer_));
    loader::WorkerCounters counters;
    loader::StageClock clock(clock_, counters);
    loader::RecipeContext context{*scratch_, clock, nullptr};
    return recipe_->run(sample_, bytes, {spec_.seed, epoch_, index}, context);
  }

  /// What the loader made of sample `index` in epoch 0, against the plain definitions.
  Status compare(std::uint64_t index, std::span<const std::byte> got) {
    SLUICE_TRY(std::vector<image::Image> frames, input_.whole(index, spec_, buffer_));
    const aug::Compose& steps = recipe_->steps();
    aug::Drawn drawn;
    steps.sample(drawn, {.seed = spec_.seed, .epoch = 0, .index = index},
                 aug::shape_of(frames[0].view<std::uint8_t>()));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const aug::Draw& draw = drawn.steps[i].draw;
      const aug::Shape shape =
          steps.transform(i).output_shape(aug::shape_of(frames[0].view<std::uint8_t>()), draw);
      std::vector<image::Image> made;
      std::vector<image::ImageView<std::uint8_t>> src;
      std::vector<image::ImageSpan<std::uint8_t>> dst;
      for (const image::Image& frame : frames) {
        SLUICE_TRY(made.emplace_back(),
                   image::Image::make(shape.width, shape.height, shape.channels));
        src.push_back(frame.view<std::uint8_t>());
        dst.push_back(made.back().span<std::uint8_t>());
      }
      SLUICE_CHECK(steps.transform(i).apply_reference(aug::Frames<std::uint8_t>{dst, src}, draw));
      frames = std::move(made);
    }
    const std::size_t bytes = recipe_->frame_output().bytes();
    for (std::size_t f = 0; f < frames.size(); ++f)
      SLUICE_CHECK(compare_levels(frames[f].view<std::uint8_t>(), got.subspan(f * bytes, bytes)));
    return ok;
  }
  /// With Normalize taken back, values are levels as near to the reference as the transform's
  /// record says.
  Status compare_levels(image::ImageView<std::uint8_t> want, std::span<const std::byte> got) const {
    const loader::OutputSpec output = recipe_->frame_output();
    if (want.width() != output.width || want.height() != output.height ||
        want.channels() != output.channels)
      return Error{
          Errc::measurement,
          fmt::format("the recipe gives {}x{}x{}, its reference {}x{}x{}", output.height,
                      output.width, output.channels, want.height(), want.width(), want.channels())};
    const std::span floats(reinterpret_cast<const float*>(got.data()), got.size() / sizeof(float));
    SLUICE_TRY(image::Image levels,
               image::Image::make(want.width(), want.height(), want.channels(), image::DType::f32));
    SLUICE_TRY(image::Image wanted,
               image::Image::make(want.width(), want.height(), want.channels(), image::DType::f32));
    const image::Normalization& n = recipe_->normalization();
    std::size_t at = 0;
    for (int c = 0; c < want.channels(); ++c)
      for (int y = 0; y < want.height(); ++y)
        for (int x = 0; x < want.width(); ++x, ++at) {
          const auto k = static_cast<std::size_t>(c);
          levels.span<float>().at(x, y, c) = (floats[at] - n.offset[k]) / n.scale[k];
          wanted.span<float>().at(x, y, c) = want.at(x, y, c);
        }
    const aug::TransformSpec& last = recipe_->steps().transform(recipe_->steps().size() - 1).spec();
    aug::Tolerance allowed = last.u8;
    allowed.max += kLevelRounding;
    return within_tolerance<float>(last.name, levels.view<float>(), wanted.view<float>(), allowed);
  }

  RecipeSpec spec_;
  RecipeInput input_;
  std::shared_ptr<const loader::Staged> recipe_;
  std::unique_ptr<CopyTarget> target_;  // null: batches stay in host memory
  std::shared_ptr<loader::PinnedAllocator> memory_ = std::make_shared<KeptMemory>();
  std::vector<std::byte> sample_;
  std::unique_ptr<loader::RecipeScratch> scratch_;
  SystemClock clock_;
  storage::ReadBuffer buffer_;
  std::uint64_t epoch_ = 1;   // 0 is that of check(); later ones draw anew
  std::int64_t batches_ = 0;  // of the sample
  std::vector<std::int64_t> shape_;
};

}  // namespace

void add_recipe_rows(measure::Catalogue& catalogue) {
  const auto inputs = std::make_shared<RecipeInputs>();
  const auto factory =
      [inputs](
          const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(RecipeSpec spec, read_recipe_spec(context));
    SLUICE_TRY(RecipeInput input, inputs->open(spec, context));
    loader::StagedOptions options{spec.transform, spec.params, spec.channels, spec.frames,
                                  input.decoded()};
    SLUICE_TRY(auto recipe, loader::Staged::make(options));
    std::unique_ptr<CopyTarget> target;
    if (!spec.copy_to.empty() && !context.synthetic) {
      SLUICE_TRY(target,
                 CopyTarget::open(spec.copy_to, recipe->output().bytes() * spec.batch_size));
    }
    return std::unique_ptr<measure::Subject>(std::make_unique<RecipeSubject>(
        std::move(spec), std::move(input), std::move(recipe), std::move(target)));
  };
  for (const char* prefix : {"image-rgb/pipeline/", "image-9ch/pipeline/", "video-16f/pipeline/"})
    catalogue.prefixes[prefix] = factory;
}

}  // namespace sluice::scenario
