// sluice/visit/loader/probe.cpp - one thread, the same samples in every way, in turns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/probe.h"

#include "sluice/core/clock.h"
#include "sluice/image/shrink.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/stats/t_test.h"
#include "sluice/visit/loader/run.h"

#include <algorithm>
#include <ctime>
#include <vector>

namespace sluice::visit {
namespace {

constexpr std::uint64_t kMostSamples = 32;
constexpr std::size_t kFewestSamples = 3;
constexpr std::int64_t kPassNs = 60'000'000;  // of the samples, once
constexpr int kRounds = 6;                    // the first warms up
constexpr double kWorthIt = 1.25;             // shorter sides, before over after

class ThreadCpuClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

/// Bytes of samples, and the recipe that makes them.
struct Way {
  std::shared_ptr<const loader::Recipe> recipe;
  std::unique_ptr<loader::RecipeScratch> scratch;
  std::vector<std::vector<std::byte>> samples;
};

class Probe {
 public:
  Probe(int side, bool three_augment) : side_(side), three_augment_(three_augment) {}

  /// The recipe of the run; `scaled`: with JPEGs decoded at the smallest sufficient scale.
  [[nodiscard]] Result<Way> way(bool scaled) const {
    Way made;
    if (three_augment_) {
      loader::ThreeAugmentOptions options;
      options.side = side_;
      SLUICE_TRY(made.recipe, loader::make_three_augment(options));
    } else {
      loader::TrainCropOptions options;
      options.side = side_;
      options.filter = loader::Filter::antialias;
      options.dct_scaled = scaled;
      SLUICE_TRY(made.recipe, loader::make_train_crop(options));
    }
    made.scratch = made.recipe->make_scratch();
    return made;
  }

  /// Nanoseconds of one sample; an Error where it cannot be decoded.
  Result<std::int64_t> one(Way& way, std::size_t index) {
    out_.resize(way.recipe->output().bytes());
    loader::WorkerCounters counters;
    loader::StageClock stages(clock_, counters);
    loader::RecipeContext context{*way.scratch, stages};
    const std::int64_t start_ns = clock_.now_ns();
    SLUICE_CHECK(way.recipe->run(out_, way.samples[index], {.seed = 1, .epoch = 0, .index = index},
                                 context));
    return clock_.now_ns() - start_ns;
  }

  /// Time of all samples in `changed` over that in `plain`.
  Result<stats::Estimate> ratio(Way& plain, Way& changed) {
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
      double before = 0, after = 0;
      for (std::size_t i = 0; i < plain.samples.size(); ++i) {
        SLUICE_TRY(const std::int64_t plain_ns, one(plain, i));
        SLUICE_TRY(const std::int64_t changed_ns, one(changed, i));
        before += static_cast<double>(plain_ns);
        after += static_cast<double>(changed_ns);
      }
      if (round > 0 && before > 0 && after > 0) ratios.push_back(after / before);
    }
    return stats::geometric_mean_interval(ratios);
  }

 private:
  int side_;
  bool three_augment_;
  ThreadCpuClock clock_;
  std::vector<std::byte> out_;
};

struct Images {
  Way plain;
  std::vector<int> shorter_sides;
};

/// Spread over the data set, as many as fit the time.
Result<Images> read_images(const LoaderRequest& request, Probe& probe) {
  SLUICE_TRY(const scenario::LoaderInput input, open_input(request));
  Images images;
  SLUICE_TRY(images.plain, probe.way(false));
  const std::uint64_t size = input.dataset->size(), count = std::min(size, kMostSamples);
  storage::ReadBuffer buffer;
  image::Decoder decoder;
  std::int64_t spent_ns = 0;
  for (std::uint64_t i = 0; i < count && spent_ns < kPassNs; ++i) {
    const auto bytes = input.dataset->read(i * size / count, buffer);
    if (!bytes) continue;
    const auto info =
        decoder.read_info({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    if (!info) continue;
    images.plain.samples.emplace_back(bytes->begin(), bytes->end());
    const auto took_ns = probe.one(images.plain, images.plain.samples.size() - 1);
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

Result<analysis::ProbedChange> probe_smaller(Images& images, int side, Probe& probe) {
  SLUICE_TRY(Way small, probe.way(false));
  image::Shrinker shrinker;
  std::vector<std::uint8_t> bytes;
  for (const auto& one : images.plain.samples) {
    SLUICE_CHECK(shrinker.run(bytes,
                              {reinterpret_cast<const std::uint8_t*>(one.data()), one.size()},
                              {.shorter_side = smaller_side(side)}));
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    small.samples.emplace_back(begin, begin + bytes.size());
  }
  analysis::ProbedChange change;
  SLUICE_TRY(change.work, probe.ratio(images.plain, small));
  change.bytes = static_cast<double>(bytes_of(small)) / static_cast<double>(bytes_of(images.plain));
  return change;
}

Result<analysis::ProbedChange> probe_scaled(Images& images, Probe& probe) {
  SLUICE_TRY(Way scaled, probe.way(true));
  scaled.samples = images.plain.samples;
  analysis::ProbedChange change;
  SLUICE_TRY(change.work, probe.ratio(images.plain, scaled));
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

analysis::ProbedData probe_images(const LoaderRequest& request, int side) {
  Probe probe(side, request.three_augment);
  analysis::ProbedData found;
  auto images = read_images(request, probe);
  if (!images || images->plain.samples.size() < kFewestSamples) return found;
  std::vector<int>& sides = images->shorter_sides;
  std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2),
                   sides.end());
  const int median = sides[sides.size() / 2];
  found.shorter_side = smaller_side(side);
  if (median > kWorthIt * found.shorter_side)
    found.smaller = if_found(probe_smaller(*images, side, probe));
  if (!request.three_augment && !request.decode_scaled)
    found.scaled = if_found(probe_scaled(*images, probe));
  return found;
}

}  // namespace sluice::visit
