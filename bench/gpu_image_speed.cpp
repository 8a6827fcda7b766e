// bench/gpu_image_speed.cpp - images per second of decode, crop and augment on a GPU; what each
// kernel takes. Output is checked first.
// SPDX-License-Identifier: Apache-2.0
//
// usage: gpu_image_speed [SECONDS [BATCH [all|line|feed]]]
//   line: the module's calls alone; feed: loader, lanes and device together
#include "sluice/image/inputs/photo.h"
#include "sluice/loader/gpu/device_feed.h"
#include "sluice/loader/gpu/library.h"
#include "sluice/loader/gpu/sample_draw.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::loader;
using namespace sluice::loader::gpu;
using bench::cpu_seconds;
using bench::must;
using Steady = std::chrono::steady_clock;

constexpr int kImages = 1024;  // of a set: more bytes than caches hold

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}
void check(const Status& status) {
  if (status) return;
  fmt::print("{}\n", status.error().message);
  std::exit(1);
}

struct Photo {
  std::vector<std::uint8_t> jpeg;
  int width = 0, height = 0;
};
struct Set {
  std::string name;
  std::vector<Photo> photos;
};

/// 500 x 375 in both orientations, 4:2:0.
Set make_set(int quality) {
  Set set;
  set.photos.resize(kImages);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::thread::hardware_concurrency(); ++t)
    threads.emplace_back([&] {
      image::PhotoMaker maker;
      for (std::size_t i = next++; i < set.photos.size(); i = next++) {
        Photo& photo = set.photos[i];
        photo.width = i % 2 == 0 ? 500 : 375;
        photo.height = 875 - photo.width;
        check(maker.make_jpeg(photo.jpeg, 7, i, {photo.width, photo.height, quality}));
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  double bytes = 0;
  for (const Photo& photo : set.photos)
    bytes += static_cast<double>(photo.jpeg.size());
  set.name = fmt::format("{:.0f} kB", bytes / kImages / 1e3);
  return set;
}

/// Batch `number` of the set.
std::vector<Sample> batch_of(const Set& set, std::size_t number, int batch) {
  std::vector<Sample> samples;
  for (int i = 0; i < batch; ++i) {
    const std::size_t index =
        (number * static_cast<std::size_t>(batch) + static_cast<std::size_t>(i)) %
        set.photos.size();
    const Photo& photo = set.photos[index];
    Sample sample;
    sample.data = photo.jpeg.data();
    sample.bytes = photo.jpeg.size();
    sample.lane = Lane::encoded;
    sample.width = photo.width;
    sample.height = photo.height;
    sample.draw =
        sample_draw(draw_three_augment({}, {1, number, index}, photo.width, photo.height));
    samples.push_back(sample);
  }
  return samples;
}

/// A batch on the device against the recipe on the CPU, u8.
void check_batch(ImageLine& line, const Set& set, int batch) {
  ThreeAugmentOptions options;
  options.type = BatchType::u8;
  options.layout = Layout::hwc;
  const auto recipe = must(make_three_augment(options));
  const std::vector<Sample> samples = batch_of(set, 0, batch);
  (void)must(line.decode(0, samples));
  check(line.process(0, samples, Resample::bilinear, Augment::fused, Output::u8_hwc));
  const std::size_t bytes = recipe->output().bytes();
  std::vector<std::byte> made(bytes * samples.size()), expected(bytes);
  check(line.download_output(0, made));
  SystemClock system;
  WorkerCounters counters;
  StageClock clock(system, counters);
  const auto scratch = recipe->make_scratch();
  RecipeContext context{*scratch, clock};
  std::vector<std::size_t> apart(256);
  for (std::size_t i = 0; i < 64; ++i) {
    const Photo& photo = set.photos[i];
    check(recipe->run(expected, std::as_bytes(std::span(photo.jpeg)), {1, 0, i}, context));
    for (std::size_t k = 0; k < bytes; ++k)
      ++apart[static_cast<std::size_t>(
          std::abs(static_cast<int>(expected[k]) - static_cast<int>(made[i * bytes + k])))];
  }
  std::size_t all = 0, within = 0;
  for (const std::size_t count : apart)
    all += count;
  for (std::size_t level = 0; level < 3; ++level)
    within += apart[level];
  std::size_t most = 255;
  while (most > 0 && apart[most] == 0)
    --most;
  fmt::print(
      "{}: whole path against the CPU's recipe: {:.4f} % equal, {:.4f} % within 2 levels, "
      "at most {}\n",
      set.name, 100.0 * static_cast<double>(apart[0]) / static_cast<double>(all),
      100.0 * static_cast<double>(within) / static_cast<double>(all), most);
  if (static_cast<double>(within) < 0.99 * static_cast<double>(all)) std::exit(1);
}

struct Plan {
  std::string name;
  bool process = true;
  Augment augment = Augment::none;
  Output output = Output::u8_hwc;
  Resample resample = Resample::bilinear;
};

/// Decode of the next batch is handed over before the kernels of this one.
void rate(ImageLine& line, const Set& set, int batch, double seconds, int buffers, const Plan& plan,
          int vary = 0) {
  std::vector<std::vector<Sample>> batches;
  for (std::size_t b = 0; b < 16; ++b) {
    batches.push_back(batch_of(set, b, batch));
    if (vary > 0)
      batches.back().resize(static_cast<std::size_t>(batch) -
                            b * static_cast<std::size_t>(vary) / 16);
  }
  const auto of = [&](std::size_t step) -> const std::vector<Sample>& {
    return batches[step % batches.size()];
  };
  const auto buffer = [&](std::size_t step) {
    return static_cast<int>(step % static_cast<std::size_t>(buffers));
  };
  const auto finish = [&](std::size_t step) {
    if (plan.process)
      check(line.process(buffer(step), of(step), plan.resample, plan.augment, plan.output));
  };
  const bool ahead = buffers > 1;
  std::size_t step = 0, images = 0;
  const auto one = [&] {
    (void)must(line.decode(buffer(step), of(step)));
    if (!ahead) finish(step);
    if (ahead && step > 0) finish(step - 1);
    images += of(step).size();
    ++step;
  };
  for (int i = 0; i < 6; ++i)
    one();
  images = 0;
  const double cpu = cpu_seconds();
  const auto begin = Steady::now();
  while (seconds_since(begin) < seconds)
    one();
  const double wall = seconds_since(begin);
  if (ahead) finish(step - 1);
  for (int b = 0; b < buffers; ++b)
    if (plan.process) check(line.wait(b));
  fmt::print("{:8} {:34} {} in flight {:>9.0f} img/s {:.2f} cores\n", set.name, plan.name, buffers,
             static_cast<double>(images) / wall, (cpu_seconds() - cpu) / wall);
  std::fflush(stdout);
}

/// Kernels alone: the same decoded batch again and again.
void kernel(ImageLine& line, const Set& set, int batch, const Plan& plan) {
  const std::vector<Sample> samples = batch_of(set, 0, batch);
  (void)must(line.decode(0, samples));
  const auto many = [&](int times) {
    for (int i = 0; i < times; ++i)
      check(line.process(0, samples, plan.resample, plan.augment, plan.output));
    check(line.wait(0));
  };
  many(20);
  const auto begin = Steady::now();
  many(100);
  fmt::print("{:8} {:46} {:8.1f} us a batch of {}\n", set.name, plan.name,
             1e6 * seconds_since(begin) / 100, batch);
  std::fflush(stdout);
}

class SetDataset final : public Dataset {
 public:
  explicit SetDataset(const Set& set) : set_(set) {}
  [[nodiscard]] std::uint64_t size() const override { return 16 * set_.photos.size(); }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return fmt::format("{}", index);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t) const override { return 0; }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override { return at(index).size(); }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    return std::as_bytes(std::span(at(index)));
  }
  void cancel() const override {}

 private:
  [[nodiscard]] const std::vector<std::uint8_t>& at(std::uint64_t index) const {
    return set_.photos[index % set_.photos.size()].jpeg;
  }
  const Set& set_;
  std::vector<std::uint64_t> starts_{0};
};

/// Loader, lanes and device together; the consumer takes nothing but batches.
void feed_rate(const Set& set, int batch, double seconds, LanePolicy policy, int workers,
               bool pinned, BatchType type = BatchType::f32) {
  DeviceFeedOptions options;
  options.loader.batch_size = static_cast<std::uint32_t>(batch);
  options.loader.workers = workers;
  options.loader.prefetch = 4;
  options.loader.pin_memory = pinned;
  options.policy = policy;
  options.recipe.type = type;
  options.recipe.layout = type == BatchType::f32 ? Layout::chw : Layout::hwc;
  const auto feed = must(DeviceFeed::make(std::make_shared<SetDataset>(set), options));
  std::uint64_t epoch = 0, images = 0;
  check(feed->start_epoch(epoch));
  const auto drain = [&](double for_seconds) {
    images = 0;
    const auto begin = Steady::now();
    while (seconds_since(begin) < for_seconds) {
      auto next = must(feed->next());
      if (next)
        images += next->size();
      else
        check(feed->start_epoch(++epoch));
    }
    return seconds_since(begin);
  };
  (void)drain(0.5 + seconds / 2);
  const DeviceFeedStats before = feed->stats();
  const double cpu = cpu_seconds();
  const double wall = drain(seconds);
  const double cores = (cpu_seconds() - cpu) / wall;
  const DeviceFeedStats after = feed->stats();
  const auto share = [&](std::int64_t now, std::int64_t then) {
    return static_cast<double>(now - then) / 1e9 / wall;
  };
  const double gpu = static_cast<double>(after.lanes.gpu - before.lanes.gpu);
  const double all = gpu + static_cast<double>(after.lanes.cpu - before.lanes.cpu);
  fmt::print(
      "{:8} feed {:6} {:4} {:2} workers {:8} {:>8.0f} img/s {:5.2f} cores, GPU lane {:.2f}, "
      "decoder "
      "busy {:.2f}, waits for records {:.2f}\n",
      set.name, to_string(policy), to_string(type), workers, pinned ? "pinned" : "",
      static_cast<double>(images) / wall, cores, gpu / all,
      share(after.decode_ns, before.decode_ns), share(after.loader_wait_ns, before.loader_wait_ns));
  std::fflush(stdout);
}

/// The whole recipe by the CPU.
void cpu_rate(const Set& set, int batch, double seconds, int workers) {
  ThreeAugmentOptions recipe;
  recipe.type = BatchType::u8;
  recipe.layout = Layout::hwc;
  LoaderOptions options;
  options.batch_size = static_cast<std::uint32_t>(batch);
  options.workers = workers;
  options.prefetch = 4;
  const auto loader = must(
      Loader::make(std::make_shared<SetDataset>(set), must(make_three_augment(recipe)), options));
  std::uint64_t images = 0, epoch = 0;
  auto begin = Steady::now();
  bool warm = false;
  while (!warm || seconds_since(begin) < seconds) {
    const auto next = must(loader->next());
    if (next)
      images += next->size();
    else
      check(loader->start_epoch(++epoch));
    if (!warm && seconds_since(begin) > 0.5) {
      warm = true;
      images = 0;
      begin = Steady::now();
    }
  }
  fmt::print("{:8} three-augment by the CPU, u8, {} workers {:>8.0f} img/s\n", set.name, workers,
             static_cast<double>(images) / seconds_since(begin));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const int batch = argc > 2 ? std::atoi(argv[2]) : 256;
  LineOptions options;
  options.most_samples = batch;
  options.buffers = 4;
  auto begin = Steady::now();
  ImageLine line = must(ImageLine::open(options));
  const LineFacts& facts = line.facts();
  fmt::print("{}, nvJPEG {}.{}.{} ({}), {} engines, opened in {:.2f} s\n", facts.device,
             facts.version[0], facts.version[1], facts.version[2], facts.library, facts.engines,
             seconds_since(begin));
  check(line.set_levels(image::Normalization::imagenet()));
  begin = Steady::now();
  const std::vector<Set> sets{make_set(85), make_set(97)};
  fmt::print("{} images of {} and of {}, made in {:.1f} s\n", kImages, sets[0].name, sets[1].name,
             seconds_since(begin));
  for (const Set& set : sets)
    check_batch(line, set, batch);
  const std::string which = argc > 3 ? argv[3] : "all";
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (which != "line")
    for (const Set& set : sets) {
      cpu_rate(set, batch, seconds, cores);
      for (const bool pinned : {true, false})
        feed_rate(set, batch, seconds, LanePolicy::gpu, 4, pinned);
      feed_rate(set, batch, seconds, LanePolicy::gpu, 4, true, BatchType::u8);
      feed_rate(set, batch, seconds, LanePolicy::gpu, cores - 1, true);
      feed_rate(set, batch, seconds, LanePolicy::cpu, cores, true);
      feed_rate(set, batch, seconds, LanePolicy::hybrid, 4, true);
      for (const int workers : {cores - 2, cores - 1, cores})
        feed_rate(set, batch, seconds, LanePolicy::hybrid, workers, true);
      feed_rate(set, batch, seconds, LanePolicy::hybrid, cores - 1, false);
    }
  if (which == "feed") return 0;
  const Plan decode{"decode", false};
  const Plan crop{"decode, crop"};
  const Plan fused_u8{"decode, crop, augment, u8", true, Augment::fused};
  const Plan whole{"decode, crop, augment, f32", true, Augment::fused, Output::f32_chw};
  const Plan bicubic{"the same, bicubic", true, Augment::fused, Output::f32_chw, Resample::bicubic};
  const Plan separate{"the same, separate kernels", true, Augment::separate, Output::f32_chw};
  for (const Plan& plan : {crop, fused_u8, whole, bicubic, separate})
    kernel(line, sets[0], batch, plan);
  for (const Set& set : sets) {
    for (const int buffers : {1, 2, 3, 1})  // the first again: how far rows scatter
      rate(line, set, batch, seconds, buffers, decode);
    rate(line, set, batch, seconds, 2, crop);
    for (const int buffers : {1, 2, 3, 4})
      rate(line, set, batch, seconds, buffers, whole);
    rate(line, set, batch, seconds, 2, fused_u8);
    rate(line, set, batch, seconds, 2, bicubic);
    rate(line, set, batch, seconds, 2, separate);
    Plan varied = whole;
    varied.name += ", sizes vary";
    rate(line, set, batch, seconds, 2, varied, batch / 2);
  }
  fmt::print("{:.0f} MB on the device\n", static_cast<double>(line.own_bytes()) / 1e6);
}
