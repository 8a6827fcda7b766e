// tests/train/world_program.cpp - one rank of a real world by MPI or TCP: trains a small model, and
// rank 0 writes what came of it. For mpi_world_test.py and tcp_world_test.py.
// SPDX-License-Identifier: Apache-2.0
//
// usage: world_program FILE SAMPLES [--start N [--tcp 1]] [--device cuda:N] [--width DIM]
//        [--timeout SECONDS] [--die RANK | --hang RANK | --refuse RANK | --mute RANK | --late N]
// SAMPLES: of a step, over all ranks. --start: alone, this process starts the others itself.
// --refuse: that rank gives up before it trains. --mute: it prints "joined" on stdout and says
// nothing more. --late: what mpirun or MPI started as number N
// stops before it joins.
#include "sluice/core/json.h"
#include "sluice/core/rng.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/engine.h"
#include "sluice/train/world/mpi.h"
#include "sluice/train/world/tcp.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace {

using namespace sluice;
using namespace sluice::train;

struct Arguments {
  std::string file;
  int samples = 8, width = 64;
  std::string device = "cpu";
  int start = 0, die = -1, hang = -1, refuse = -1, mute = -1;
  bool tcp = false;
  bool started = false;  // by another rank: a launcher's variables are of those it was started with
  double timeout_s = 60;
};

constexpr int kSteps = 6;
constexpr int kBadStep = 3;

EngineConfig config_of(const Arguments& arguments, Communicator* world) {
  EngineConfig config;
  config.model.name = "small";
  config.model.dim = arguments.width;
  config.model.heads = 2;
  config.model.layers = 2;
  config.model.image = 32;
  config.model.patch = 8;
  config.model.classes = 10;
  config.model.drop_path = 0.1F;
  config.device = arguments.device;
  config.threads = 1;
  config.batch = arguments.samples / world->size();
  config.world = world;
  return config;
}

/// The same numbers for a step whoever takes them; each rank takes its part.
BatchView part_of_step(std::vector<float>& images, std::vector<std::int32_t>& labels,
                       const EngineConfig& config, int samples, int step) {
  Rng rng({.seed = 7, .index = static_cast<std::uint64_t>(step)});
  const auto side = static_cast<std::size_t>(config.model.image);
  const std::size_t pixels = 3 * side * side;
  images.resize(pixels * static_cast<std::size_t>(samples));
  for (float& value : images)
    value = static_cast<float>(rng.normal());
  labels.resize(static_cast<std::size_t>(samples));
  for (std::int32_t& label : labels)
    label = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(config.model.classes)));
  const auto begin = static_cast<std::size_t>(config.world->rank() * config.batch);
  BatchView view;
  view.images =
      std::span(images).subspan(begin * pixels, pixels * static_cast<std::size_t>(config.batch));
  view.labels = std::span(labels).subspan(begin, static_cast<std::size_t>(config.batch));
  return view;
}

Status train(const Arguments& arguments, World& world) {
  if (world.rank() == arguments.refuse) {
    world.give_up({Errc::unsupported, "has no data"});
    return ok;
  }
  if (world.rank() == arguments.mute) {
    fmt::print("joined\n");
    std::fflush(stdout);
    for (;;)
      ::pause();
  }
  // As devices do that add up by themselves.
  const std::string long_word(std::size_t{1} << 20, 'x');
  SLUICE_TRY(const std::string shared, world.share(world.rank() == 0 ? long_word : ""));
  if (shared != long_word) return Error{Errc::internal, "another word was shared"};
  const EngineConfig config = config_of(arguments, &world);
  SLUICE_TRY(const auto engine, Engine::make(config));
  Json losses = Json::array();
  Json told{{"ranks", world.size()}, {"library", world.library()}, {"sums", engine->info().sums}};
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  for (int step = 0; step < kSteps; ++step) {
    if (step == kBadStep && world.rank() == arguments.die) std::raise(SIGKILL);
    while (step == kBadStep && world.rank() == arguments.hang)
      ::pause();
    SLUICE_CHECK(engine->micro_step(part_of_step(images, labels, config, arguments.samples, step)));
    SLUICE_TRY(const StepResult result, engine->update());
    losses.push_back(result.loss);
    told["sync_bytes"] = result.sync.bytes;
  }
  SLUICE_CHECK(world.rank() == 0 ? world.tell("done?") : ok);
  if (world.rank() != 0) {
    SLUICE_TRY(const std::string heard, world.hear());
    return world.answer(heard + " " + std::to_string(world.rank()));
  }
  SLUICE_TRY(const auto answers, world.answers());
  told["answers"] = answers;
  told["losses"] = losses;
  for (const Parameter& parameter : engine->program().parameters)
    for (const std::string& name : {parameter.name, parameter.name + ".grad"}) {
      SLUICE_TRY(told["tensors"][name], engine->read(name));
    }
  std::ofstream(arguments.file) << told.dump();
  return ok;
}

template <class Kind>
Status run(const Arguments& arguments, const std::vector<std::string>& command,
           const LaunchedRank& launched) {
  const WorldOptions options{.timeout_s = arguments.timeout_s};
  SLUICE_TRY(const auto world, arguments.start > 0 ? Kind::start(arguments.start, command, options)
                                                   : Kind::join(launched, options));
  return train(arguments, *world);
}

Status run(Arguments arguments, const std::vector<std::string>& command) {
  LaunchedRank launched;
  if (!arguments.started || TcpWorld::started()) {
    SLUICE_TRY(launched, find_rank());
  }
  SLUICE_TRY(arguments.device, cuda::device_of_rank(arguments.device, launched.local_rank));
  return arguments.tcp || launched.by_tcp ? run<TcpWorld>(arguments, command, launched)
                                          : run<MpiWorld>(arguments, command, launched);
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  arguments.file = values[1];
  arguments.samples = std::atoi(values[2]);
  std::vector<std::string> command{"/proc/self/exe", values[1], values[2]};
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) > 0) command[0] = self;
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string flag = values[i];
    if (flag == "--start") {
      arguments.start = std::atoi(values[i + 1]);
      command.insert(command.end(), {"--started", "1"});
      continue;
    }
    if (flag == "--started") arguments.started = true;
    if (flag == "--die") arguments.die = std::atoi(values[i + 1]);
    if (flag == "--tcp") arguments.tcp = true;
    if (flag == "--device") arguments.device = values[i + 1];
    if (flag == "--refuse") arguments.refuse = std::atoi(values[i + 1]);
    if (flag == "--mute") arguments.mute = std::atoi(values[i + 1]);
    const char* number = std::getenv("OMPI_COMM_WORLD_RANK");
    if (flag == "--late" && number != nullptr && number == std::string(values[i + 1]))
      std::raise(SIGSTOP);
    if (flag == "--width") arguments.width = std::atoi(values[i + 1]);
    if (flag == "--hang") arguments.hang = std::atoi(values[i + 1]);
    if (flag == "--timeout") arguments.timeout_s = std::atof(values[i + 1]);
    command.insert(command.end(), {flag, values[i + 1]});
  }
  const Status ended = run(arguments, command);
  if (ended) return 0;
  fmt::print(stderr, "sluice: {}\n", ended.error().message);
  std::_Exit(5);  // the others do not come: nothing waits for them
}
