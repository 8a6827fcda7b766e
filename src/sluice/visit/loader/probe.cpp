// sluice/visit/loader/probe.cpp - one thread, the same samples in every way, in turns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/probe.h"

#include "sluice/core/clock.h"
#include "sluice/image/shrink.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/stats/t_test.h"
#include "sluice/visit/loader/run.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <vector>

namespace sluice::visit {
namespace {

constexpr std::uint64_t kMostSamples = 32;
constexpr std::int64_t kPassNs = 60'000'000;       // of the samples, once
constexpr std::size_t kSamplesOfAny = 6;           // large images take longer than that,
constexpr std::int64_t kLongPassNs = 300'000'000;  // and have this
constexpr int kFewestRounds = 4, kMostRounds = 6;  // the first warms up
constexpr std::int64_t kRoundsNs = 700'000'000;    // after that the fewest will do
constexpr double kWorthIt = 1.1;                   // shorter sides, before over after
constexpr std::size_t kMostSlotBytes = 64U << 20U, kSlotAlignment = 64;

class ThreadCpuClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

struct WayOptions {
  bool scaled = false;  // JPEGs decoded at the smallest sufficient scale
  train::PixelType type = train::PixelType::f32;
};

/// Bytes of samples, and the recipe that makes them.
struct Way {
  std::shared_ptr<const loader::Recipe> recipe;
  std::unique_ptr<loader::RecipeScratch> scratch;
  std::vector<std::vector<std::byte>> samples;
};

class Probe {
 public:
  Probe(const LoaderRequest& request, int side) : request_(request), side_(side) {}

  [[nodiscard]] int side() const { return side_; }

  [[nodiscard]] Result<Way> way(const WayOptions& asked) const {
    Way made;
    const auto fill = [&](auto& options) {
      options.side = side_;
      options.filter = loader::Filter::antialias;
      options.erasing.probability = request_.random_erasing;
      options.type = scenario::batch_type(asked.type);
      options.layout = scenario::layout_of(asked.type);
    };
    if (request_.three_augment) {
      loader::ThreeAugmentOptions options;
      fill(options);
      SLUICE_TRY(made.recipe, loader::make_three_augment(options));
    } else {
      loader::TrainCropOptions options;
      fill(options);
      options.dct_scaled = asked.scaled;
      SLUICE_TRY(made.recipe, loader::make_train_crop(options));
    }
    made.scratch = made.recipe->make_scratch();
    return made;
  }

  /// Nanoseconds of one sample, cut as `epoch` draws it; an Error where it cannot be decoded.
  Result<std::int64_t> one(Way& way, std::size_t index, std::uint64_t epoch) {
    const std::span<std::byte> out = next_place(way.recipe->output().bytes());
    loader::WorkerCounters counters;
    loader::StageClock stages(clock_, counters);
    loader::RecipeContext context{*way.scratch, stages};
    const std::int64_t start_ns = clock_.now_ns();
    SLUICE_CHECK(way.recipe->run(out, way.samples[index],
                                 {.seed = 1, .epoch = epoch, .index = index}, context));
    return clock_.now_ns() - start_ns;
  }

  /// Time of all samples in `changed` over that in `plain`.
  Result<stats::Estimate> ratio(Way& plain, Way& changed) {
    std::vector<double> ratios;
    const std::int64_t start_ns = clock_.now_ns();
    for (int round = 0; round < kMostRounds; ++round) {
      if (round >= kFewestRounds && clock_.now_ns() - start_ns > kRoundsNs) break;
      const auto epoch = static_cast<std::uint64_t>(round);
      double before = 0, after = 0;
      for (std::size_t i = 0; i < plain.samples.size(); ++i) {
        SLUICE_TRY(const std::int64_t plain_ns, one(plain, i, epoch));
        SLUICE_TRY(const std::int64_t changed_ns, one(changed, i, epoch));
        before += static_cast<double>(plain_ns);
        after += static_cast<double>(changed_ns);
      }
      if (round > 0 && before > 0 && after > 0) ratios.push_back(after / before);
    }
    return stats::geometric_mean_interval(ratios);
  }

 private:
  /// Of as much memory as a loader's batches have: writing to what lies in a cache costs less.
  std::span<std::byte> next_place(std::size_t bytes) {
    if (slots_.empty()) {
      const auto samples = static_cast<std::size_t>(request_.batch_size) *
                           static_cast<std::size_t>(request_.prefetch + 1);
      slots_.resize(std::max(bytes, std::min(bytes * samples, kMostSlotBytes)));
    }
    if (slots_.size() < bytes) slots_.resize(bytes);
    if (at_ + bytes > slots_.size()) at_ = 0;
    const std::span<std::byte> place(slots_.data() + at_, bytes);
    at_ += (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    return place;
  }

  const LoaderRequest& request_;
  int side_;
  ThreadCpuClock clock_;
  std::vector<std::byte> slots_;
  std::size_t at_ = 0;
};

struct Images {
  Way plain;
  std::vector<int> shorter_sides;
};

/// Spread over the data set, as many as fit the time.
Result<Images> read_images(const LoaderRequest& request, const WayOptions& now, Probe& probe) {
  SLUICE_TRY(const scenario::LoaderInput input, open_input(request));
  Images images;
  SLUICE_TRY(images.plain, probe.way(now));
  const std::uint64_t size = input.dataset->size(), count = std::min(size, kMostSamples);
  storage::ReadBuffer buffer;
  image::Decoder decoder;
  std::int64_t spent_ns = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool few = images.plain.samples.size() < kSamplesOfAny;
    if (spent_ns >= (few ? kLongPassNs : kPassNs)) break;
    const auto bytes = input.dataset->read(i * size / count, buffer);
    if (!bytes) continue;
    const auto info =
        decoder.read_info({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    if (!info) continue;
    images.plain.samples.emplace_back(bytes->begin(), bytes->end());
    const auto took_ns = probe.one(images.plain, images.plain.samples.size() - 1, 0);
    if (!took_ns) {
      images.plain.samples.pop_back();
      continue;
    }
    images.shorter_sides.push_back(std::min(info->width, info->height));
    spent_ns += *took_ns;
  }
  return images;
}

std::size_t bytes_of(const Way& way) {
  std::size_t sum = 0;
  for (const auto& one : way.samples)
    sum += one.size();
  return sum;
}

Result<analysis::ProbedChange> probe_smaller(Images& images, const WayOptions& now, Probe& probe) {
  SLUICE_TRY(Way small, probe.way(now));
  image::Shrinker shrinker;
  std::vector<std::uint8_t> bytes;
  for (const auto& one : images.plain.samples) {
    SLUICE_CHECK(shrinker.run(bytes,
                              {reinterpret_cast<const std::uint8_t*>(one.data()), one.size()},
                              {.shorter_side = smaller_side(probe.side())}));
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    small.samples.emplace_back(begin, begin + bytes.size());
  }
  analysis::ProbedChange change;
  SLUICE_TRY(change.work, probe.ratio(images.plain, small));
  change.bytes = static_cast<double>(bytes_of(small)) / static_cast<double>(bytes_of(images.plain));
  return change;
}

/// The same files in another way.
Result<analysis::ProbedChange> probe_way(Images& images, const WayOptions& way, Probe& probe) {
  SLUICE_TRY(Way changed, probe.way(way));
  changed.samples = images.plain.samples;
  analysis::ProbedChange change;
  SLUICE_TRY(change.work, probe.ratio(images.plain, changed));
  return change;
}

template <class T>
std::optional<T> if_found(Result<T> result) {
  return result ? std::optional<T>(std::move(*result)) : std::nullopt;
}

}  // namespace

int smaller_side(int side) {
  return (side * 8 + 6) / 7;
}

analysis::ProbedData probe_images(const LoaderRequest& request, int side, train::PixelType type) {
  Probe probe(request, side);
  const WayOptions now{request.decode_scaled, type};
  analysis::ProbedData found;
  auto images = read_images(request, now, probe);
  if (!images || images->plain.samples.empty()) return found;
  std::vector<int>& sides = images->shorter_sides;
  std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2),
                   sides.end());
  const int median = sides[sides.size() / 2];
  found.shorter_side = smaller_side(side);
  if (median > kWorthIt * found.shorter_side)
    found.smaller = if_found(probe_smaller(*images, now, probe));
  if (!request.three_augment && !now.scaled)
    found.scaled = if_found(probe_way(*images, {true, type}, probe));
  if (type != train::PixelType::u8)
    found.as_bytes = if_found(probe_way(*images, {now.scaled, train::PixelType::u8}, probe));
  return found;
}

}  // namespace sluice::visit
