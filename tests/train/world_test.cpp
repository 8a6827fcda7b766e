// tests/train/world_test.cpp - N ranks train as one does: losses, gradients, weights; buckets hold
// every gradient once, and none before it is whole.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"
#include "sluice/train/world/buckets.h"
#include "sluice/train/world/gather.h"
#include "sluice/train/world/rank_process.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include "tests/train/thread_world.h"
#include <csignal>
#include <map>
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::train::world_test {
namespace {

using testing::Draws;
using testing::in_world;
using testing::ThreadRank;

ModelSpec small_vit() {
  ModelSpec model;
  model.name = "small";
  model.dim = 32;
  model.heads = 2;
  model.layers = 3;
  model.image = 16;
  model.patch = 4;
  model.classes = 7;
  model.drop_path = 0.2F;
  return model;
}
ModelSpec small_gpt() {
  ModelSpec model;
  model.name = "small-gpt";
  model.family = Family::gpt;
  model.dim = 24;
  model.heads = 3;
  model.layers = 2;
  model.vocabulary = 11;
  model.sequence = 9;
  return model;
}

struct Numbers {
  std::vector<float> images;
  std::vector<std::int32_t> ids, labels;
};
Numbers draw(const ModelSpec& model, int samples, std::uint64_t seed) {
  Draws draws(seed);
  Numbers made;
  if (model.family == Family::vit5)
    made.images = draws.normals<float>(std::int64_t{samples} * 3 * model.image * model.image);
  else
    for (int i = 0; i < samples * model.sequence; ++i)
      made.ids.push_back(static_cast<std::int32_t>(draws.integer(0, model.vocabulary - 1)));
  for (int i = 0; i < samples * model.predictions(); ++i)
    made.labels.push_back(static_cast<std::int32_t>(draws.integer(0, model.outputs() - 1)));
  return made;
}
/// The `part`-th of samples divided into `parts`.
BatchView part_of(const Numbers& all, int part, int parts) {
  const auto cut = [&](const auto& values) {
    const std::size_t count = values.size() / static_cast<std::size_t>(parts);
    return std::span(values).subspan(static_cast<std::size_t>(part) * count, count);
  };
  BatchView view;
  view.images = cut(all.images);
  view.ids = cut(all.ids);
  view.labels = cut(all.labels);
  return view;
}

constexpr int kSamples = 8;  // of a micro-step, over all ranks
constexpr int kSteps = 5;

EngineConfig config_of(const ModelSpec& model, OptimizerKind kind, int accumulated) {
  EngineConfig config;
  config.model = model;
  config.threads = 1;
  config.grad_accum = accumulated;
  config.update.kind = kind;
  config.average = true;
  return config;
}

struct Trained {
  std::vector<float> losses;
  std::vector<double> norms;
  std::map<std::string, std::vector<float>> tensors;  // gradients and weights after the last step
};

Trained train(EngineConfig config, Communicator* world) {
  const int ranks = world != nullptr ? world->size() : 1;
  const int rank = world != nullptr ? world->rank() : 0;
  config.world = world;
  config.batch = kSamples / ranks;
  Trained trained;
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  if (!engine) return trained;
  for (int step = 0; step < kSteps; ++step) {
    for (int micro = 0; micro < config.grad_accum; ++micro) {
      const Numbers all =
          draw(config.model, kSamples, static_cast<std::uint64_t>(step * 100 + micro));
      EXPECT_TRUE((*engine)->micro_step(part_of(all, rank, ranks)));
    }
    const auto result = (*engine)->update();
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return trained;
    trained.losses.push_back(result->loss);
    trained.norms.push_back(result->gradient_norm);
    EXPECT_EQ(result->sync.bytes > 0, ranks > 1);
    EXPECT_LE(result->sync.waited_ns, result->sync.exposed_ns);
  }
  for (const Parameter& parameter : (*engine)->program().parameters)
    for (const std::string& name : {parameter.name, parameter.name + ".grad"})
      trained.tensors[name] = (*engine)->read(name).value();
  return trained;
}

/// The largest difference, by the largest value of `expected`.
double distance(const std::vector<float>& found, const std::vector<float>& expected) {
  double most = 0;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(expected[i])));
    difference = std::max(
        difference, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  }
  return most > 0 ? difference / most : difference;
}

struct WorldCase {
  const char* name;
  bool vit;
  OptimizerKind kind;
  int ranks, accumulated;
};
class WorldTest : public ::testing::TestWithParam<WorldCase> {};

TEST_P(WorldTest, RanksTrainAsOneDoes) {
  const WorldCase& of = GetParam();
  const EngineConfig config =
      config_of(of.vit ? small_vit() : small_gpt(), of.kind, of.accumulated);
  const Trained alone = train(config, nullptr);
  std::vector<Trained> together(static_cast<std::size_t>(of.ranks));
  in_world(of.ranks, [&](ThreadRank& rank) {
    together[static_cast<std::size_t>(rank.rank())] = train(config, &rank);
    EXPECT_EQ(rank.written_too_late, 0);
    EXPECT_GT(rank.sums, kSteps);
  });
  constexpr double kTolerance = 2e-4;  // sums in another order, five steps of an optimizer later
  for (const Trained& one : together) {
    ASSERT_EQ(one.losses.size(), alone.losses.size());
    EXPECT_EQ(one.losses, together.front().losses);
    EXPECT_EQ(one.norms, together.front().norms);
    EXPECT_LT(distance(one.losses, alone.losses), kTolerance);
    for (const auto& [name, values] : alone.tensors) {
      EXPECT_EQ(one.tensors.at(name), together.front().tensors.at(name)) << name;
      EXPECT_LT(distance(one.tensors.at(name), values), 5 * kTolerance) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, WorldTest,
    ::testing::Values(WorldCase{"vit_lamb_two", true, OptimizerKind::lamb, 2, 1},
                      WorldCase{"vit_adamw_four", true, OptimizerKind::adamw, 4, 1},
                      WorldCase{"vit_lamb_two_accumulated", true, OptimizerKind::lamb, 2, 3},
                      WorldCase{"gpt_adamw_two", false, OptimizerKind::adamw, 2, 1},
                      WorldCase{"gpt_lamb_four_accumulated", false, OptimizerKind::lamb, 4, 2}),
    [](const auto& of) { return of.param.name; });

TEST(Buckets, HoldEveryGradientOnceInTheOrderOfBackward) {
  for (const ModelSpec& model : {small_vit(), small_gpt()}) {
    for (const bool fused : {false, true}) {
      ProgramOptions options;
      options.fused = fused;
      const Program program = build_program(model, options).value();
      for (const std::size_t least : {std::size_t{1}, std::size_t{5000}, std::size_t{1} << 30}) {
        const std::vector<Bucket> buckets = gradient_buckets(program, least);
        std::size_t before = 0;
        for (const Bucket& bucket : buckets) {
          EXPECT_GE(bucket.ready, before);
          EXPECT_LT(bucket.ready, program.backward.size());
          before = bucket.ready;
        }
        for (const Parameter& parameter : program.parameters) {
          const Tensor& gradient = program.plan.at(parameter.gradient);
          int holders = 0;
          for (const Bucket& bucket : buckets) {
            const std::size_t end = bucket.offset + bucket.elements * sizeof(float);
            const bool begins = gradient.offset >= bucket.offset && gradient.offset < end;
            holders += begins && gradient.offset + gradient.bytes() <= end ? 1 : 0;
          }
          EXPECT_EQ(holders, 1) << parameter.name;
        }
        if (least == 1) {
          EXPECT_EQ(buckets.size(), program.parameters.size());
        } else if (least > 5000) {
          EXPECT_EQ(buckets.size(), 2U);  // one of each decay group
        }
      }
    }
  }
}

TEST(Gather, NumbersOfAllRanksAreGatheredExactly) {
  const auto of_rank = [](int rank) {
    return std::vector<double>{rank + 1.0 / 3, -1e300, 9007199254740993.0 * rank, 0.0};
  };
  for (const int ranks : {1, 2, 3, 5})
    in_world(ranks, [&](ThreadRank& rank) {
      const auto mine = of_rank(rank.rank());
      const auto all = gather(rank, mine);
      ASSERT_TRUE(all);
      std::vector<double> expected, sums(mine.size(), 0.0);
      for (int other = 0; other < ranks; ++other)
        for (std::size_t i = 0; i < mine.size(); ++i) {
          expected.push_back(of_rank(other)[i]);
          sums[i] += of_rank(other)[i];
        }
      EXPECT_EQ(*all, expected);
      EXPECT_EQ(sum_exactly(rank, mine).value(), sums);
    });
}

TEST(RankProcesses, OneIsSeenToRunToBeStoppedAndToBeGone) {
  EXPECT_EQ(state_of(this_process()), ProcessState::running);
  EXPECT_EQ(state_of({}), ProcessState::unknown);
  RankProcess elsewhere = this_process();
  ++elsewhere.machine;
  EXPECT_EQ(state_of(elsewhere), ProcessState::unknown);
  RankProcess later = this_process();
  ++later.started;
  EXPECT_EQ(state_of(later), ProcessState::gone) << "another process with the same number";
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RankProcess self = this_process();
    (void)!::write(told[1], &self, sizeof self);
    for (;;)
      ::pause();
  }
  RankProcess process;
  ASSERT_EQ(::read(told[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  EXPECT_EQ(state_of(process), ProcessState::running);
  ::kill(child, SIGSTOP);
  ::waitpid(child, nullptr, WUNTRACED);
  EXPECT_EQ(state_of(process), ProcessState::stopped);
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  EXPECT_EQ(state_of(process), ProcessState::gone) << "not waited for yet";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(state_of(process), ProcessState::gone);
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace sluice::train::world_test
