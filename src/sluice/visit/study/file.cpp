// sluice/visit/study/file.cpp - groups of axes to settings, clipped to a machine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/study/file.h"

#include "sluice/config/parse.h"
#include "sluice/config/reader.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace sluice::visit {
namespace {

using analysis::MixtureKnobs;
using config::closed_interval;
using config::Node;
using config::Problems;
using config::Reader;
using loader::mixture::Mix;

constexpr int kMostOfAxis = 65'536;
constexpr std::uint64_t kMostStudyBatches = 10'000'000;
constexpr std::size_t kMostCases = 1'000;

/// "8/4": two numbers that belong together.
struct Pair {
  int first = 0;
  int second = 0;
};

struct PairFormat {
  bool read(const Node& node, Pair& out, Problems& problems) const {
    const std::vector<std::string> parts =
        node.is_scalar() ? split(node.text(), '/') : std::vector<std::string>();
    const auto number = [](const std::string& text) {
      int value = 0;
      const auto end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, value);
      return read.ec == std::errc() && read.ptr == end ? value : 0;
    };
    if (parts.size() == 2) {
      const Pair pair{number(parts[0]), number(parts[1])};
      if (pair.first >= 1 && pair.second >= 1 && pair.first <= kMostOfAxis &&
          pair.second <= kMostOfAxis) {
        out = pair;
        return true;
      }
    }
    problems.add_value(node,
                       fmt::format("is not two numbers from 1 to {}, such as 4/4", kMostOfAxis));
    return false;
  }
  [[nodiscard]] static std::string type() { return "two numbers"; }
  [[nodiscard]] static std::string range() { return "such as 4/4"; }
  [[nodiscard]] static Node show(const Pair& pair) {
    return Node::scalar(fmt::format("{}/{}", pair.first, pair.second), true);
  }
};

/// One value, or a list of them: an axis.
template <class Format>
struct OneOrMore {
  Format format;

  template <class T>
  bool read(const Node& node, std::vector<T>& out, Problems& problems) const {
    if (node.is_list()) return config::list_of(format, 1).read(node, out, problems);
    T value{};
    if (!format.read(node, value, problems)) return false;
    out = {std::move(value)};
    return true;
  }
  [[nodiscard]] std::string type() const { return format.type() + ", or a list of them"; }
  [[nodiscard]] std::string range() const { return format.range(); }
  template <class T>
  [[nodiscard]] Node show(const std::vector<T>& values) const {
    return config::list_of(format, 1).show(values);
  }
};
template <class Format>
OneOrMore<Format> one_or_more(Format format) {
  return {std::move(format)};
}

/// The values of every knob; what is not written has one, the base's.
struct Axes {
  std::vector<std::string> metadata;
  std::vector<int> cpus;
  std::vector<Pair> read;
  std::vector<Pair> mix;
  std::vector<int> samples_per_episode;
  std::vector<std::uint64_t> seeds;
  std::uint64_t warmup = 8;
  std::uint64_t steps = 160;
};

void read_axes(Reader& reader, Axes& axes) {
  const auto number = closed_interval(1, kMostOfAxis);
  reader.read("metadata", axes.metadata,
              one_or_more(config::one_of({"full", "dataset_only", "off"})), "what a batch tells");
  reader.read("cpus", axes.cpus, one_or_more(number), "cores of a run");
  reader.read("read", axes.read, one_or_more(PairFormat{}), "threads that decode / that read");
  reader.read("mix", axes.mix, one_or_more(PairFormat{}), "samples per block / blocks per queue");
  reader.read("samples_per_episode", axes.samples_per_episode,
              one_or_more(closed_interval(0, kMostOfAxis)), "frame pairs of one; 0: all");
  reader.read("warmup", axes.warmup, closed_interval<std::uint64_t>(0, kMostStudyBatches),
              "batches before those that count");
  reader.read("steps", axes.steps, closed_interval<std::uint64_t>(1, kMostStudyBatches),
              "batches that count");
}

Axes axes_of(const MixtureKnobs& knobs, std::uint64_t seed) {
  return {.metadata = {knobs.metadata},
          .cpus = {knobs.cpus},
          .read = {{knobs.decode, knobs.interleave}},
          .mix = {{knobs.mix_block, knobs.queue}},
          .samples_per_episode = {knobs.samples_per_episode},
          .seeds = {seed},
          .warmup = knobs.warmup,
          .steps = knobs.steps};
}

/// The first value of every axis.
MixtureKnobs first_of(const Axes& axes) {
  return {.metadata = axes.metadata.front(),
          .cpus = axes.cpus.front(),
          .decode = axes.read.front().first,
          .interleave = axes.read.front().second,
          .mix_block = axes.mix.front().first,
          .queue = axes.mix.front().second,
          .samples_per_episode = axes.samples_per_episode.front(),
          .warmup = axes.warmup,
          .steps = axes.steps};
}

/// The first values together, then each further value of each axis alone.
std::vector<MixtureKnobs> one_at_a_time(const Axes& axes) {
  const MixtureKnobs first = first_of(axes);
  std::vector<MixtureKnobs> all{first};
  const auto turn = [&](std::size_t values, const auto& set) {
    for (std::size_t i = 1; i < values; ++i) {
      all.push_back(first);
      set(all.back(), i);
    }
  };
  turn(axes.metadata.size(),
       [&](MixtureKnobs& k, std::size_t i) { k.metadata = axes.metadata[i]; });
  turn(axes.cpus.size(), [&](MixtureKnobs& k, std::size_t i) { k.cpus = axes.cpus[i]; });
  turn(axes.read.size(), [&](MixtureKnobs& k, std::size_t i) {
    k.decode = axes.read[i].first;
    k.interleave = axes.read[i].second;
  });
  turn(axes.mix.size(), [&](MixtureKnobs& k, std::size_t i) {
    k.mix_block = axes.mix[i].first;
    k.queue = axes.mix[i].second;
  });
  turn(axes.samples_per_episode.size(), [&](MixtureKnobs& k, std::size_t i) {
    k.samples_per_episode = axes.samples_per_episode[i];
  });
  return all;
}

/// All values with all others.
std::vector<MixtureKnobs> crossed(const Axes& axes) {
  std::vector<MixtureKnobs> all;
  for (const std::string& metadata : axes.metadata)
    for (const int cpus : axes.cpus)
      for (const Pair& read : axes.read)
        for (const Pair& mix : axes.mix)
          for (const int samples : axes.samples_per_episode) {
            if (all.size() > kMostCases) return all;  // refused by their number
            all.push_back({.metadata = metadata,
                           .cpus = cpus,
                           .decode = read.first,
                           .interleave = read.second,
                           .mix_block = mix.first,
                           .queue = mix.second,
                           .samples_per_episode = samples,
                           .warmup = axes.warmup,
                           .steps = axes.steps});
          }
  return all;
}

void read_group(Reader& group, StudyFile& study) {
  std::string label;
  bool cross = false;
  group.require("label", label);
  group.read("cross", cross, config::Plain<bool>{},
             "all values of an axis with all of the others, not one axis at a time");
  Axes axes = axes_of(study.base, study.seed);
  group.read("seeds", axes.seeds, one_or_more(config::Plain<std::uint64_t>{}),
             "of the order of samples");
  read_axes(group, axes);
  for (const MixtureKnobs& knobs : cross ? crossed(axes) : one_at_a_time(axes)) {
    if (study.batch_size % knobs.mix_block != 0)
      group.fail("mix", fmt::format("a batch of {} is no multiple of a block of {}",
                                    study.batch_size, knobs.mix_block));
    for (const std::uint64_t seed : axes.seeds)
      study.cases.push_back({{label}, knobs, seed});
  }
}

}  // namespace

Result<StudyFile> StudyFile::parse(const Node& node) {
  StudyFile study;
  Reader reader(node);
  reader.require("name", study.name);
  reader.read("preset", study.preset);
  reader.read("batch_size", study.batch_size, closed_interval(1, kMostOfAxis));
  reader.read("seed", study.seed);
  reader.read("repeats", study.repeats, closed_interval(1, 1000), "runs of every setting");
  reader.read("pipeline_interleave", study.pipeline_interleave, closed_interval(1, kMostOfAxis));
  reader.read("order", study.order,
              config::names<Mix>({{"deficit", Mix::deficit}, {"random", Mix::random}}));
  reader.read("min_ready", study.min_ready, closed_interval(1, kMostOfAxis));
  reader.read("prime", study.prime);
  reader.read("prime_samples", study.prime_samples, closed_interval(0, kMostOfAxis));
  double target = 0;
  reader.read("target_samples_per_s", target, config::above(0.0));
  if (target > 0) study.target_samples_per_s = target;
  Axes axes = axes_of(study.base, study.seed);
  Reader base = reader.child("base");
  read_axes(base, axes);
  if (axes.metadata.size() + axes.cpus.size() + axes.read.size() + axes.mix.size() +
          axes.samples_per_episode.size() >
      5)
    base.fail("", "a list: the base has one value of each");
  study.base = first_of(axes);
  if (reader.has("groups")) {
    for (Reader& group : reader.children("groups"))
      read_group(group, study);
  }
  if (study.cases.empty() || study.cases.size() > kMostCases)
    reader.fail("groups", fmt::format("come to {} settings, 1 to {} are accepted",
                                      study.cases.size(), kMostCases));
  SLUICE_CHECK(reader.finish());
  return study;
}

Result<StudyFile> read_study(const std::filesystem::path& path) {
  SLUICE_TRY(const Node document, config::load(path));
  return StudyFile::parse(document);
}

FittedStudy fit_study(const StudyFile& study, const StudyLimits& limits) {
  FittedStudy fitted;
  std::vector<std::string> clipped;
  std::size_t same = 0;
  const auto fit = [&](MixtureKnobs knobs) {
    knobs.cpus = std::min(knobs.cpus, limits.cpus);
    if (limits.steps) {
      knobs.steps = *limits.steps;
      knobs.warmup = std::min(study.base.warmup, std::max<std::uint64_t>(1, *limits.steps / 2));
    }
    return knobs;
  };
  fitted.base = fit(study.base);
  std::map<std::pair<MixtureKnobs, std::uint64_t>, std::size_t> place;
  for (const StudyCase& one : study.cases) {
    const std::string cpus = std::to_string(one.knobs.cpus);
    if (one.knobs.cpus > limits.cpus &&
        std::find(clipped.begin(), clipped.end(), cpus) == clipped.end())
      clipped.push_back(cpus);
    const MixtureKnobs knobs = fit(one.knobs);
    const auto [found, is_new] = place.try_emplace({knobs, one.seed}, fitted.cases.size());
    if (is_new) {
      fitted.cases.push_back({one.labels, knobs, one.seed});
      continue;
    }
    ++same;
    std::vector<std::string>& labels = fitted.cases[found->second].labels;
    if (std::find(labels.begin(), labels.end(), one.labels.front()) == labels.end())
      labels.push_back(one.labels.front());
  }
  if (!clipped.empty())
    fitted.remarks.push_back(
        fmt::format("CPUs {}: clipped to the {} of this machine.", join(clipped), limits.cpus));
  if (limits.steps)
    fitted.remarks.push_back(
        fmt::format("Every run has {} batches after a warm-up of {}, whatever the study says.",
                    fitted.base.steps, fitted.base.warmup));
  if (same > 0)
    fitted.remarks.push_back(
        fmt::format("{} of {} settings are the same as another one here and "
                    "were measured with it.",
                    same, study.cases.size()));
  return fitted;
}

}  // namespace sluice::visit
