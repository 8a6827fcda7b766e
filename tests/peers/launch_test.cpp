// tests/peers/launch_test.cpp - what a worker is started with, and what it is not given.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/launch.h"

#include "sluice/peers/environment.h"

#include <gmock/gmock.h>

#include "tests/peers/fake_python.h"

namespace sluice::peers::launch_test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class Launch : public FakePython {
 protected:
  Result<WorkerCommand> command(const std::string& library, const std::string& mode,
                                const std::string& policy = "micro-single") {
    return worker_command(places(), library, mode, policy);
  }
};

TEST_F(Launch, OurselvesAreAWorkerToo) {
  const auto worker = command("sluice", "micro");
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_THAT(worker->command, ElementsAre((root() / "bin" / "sluice").string(), "worker"));
  EXPECT_EQ(worker->lock_hash.size(), 64U);
}

TEST_F(Launch, AnEnvironmentThatIsNotThereComesWithTheCommandThatMakesIt) {
  const auto worker = command("torchvision", "micro");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, Errc::unsupported);
  EXPECT_EQ(worker.error().message,
            "environment 'torch' is not installed; run: sluice peers install torchvision");
  EXPECT_EQ(command("pillow", "pipeline", "pipeline-default").error().message,
            "environment 'torch' is not installed; run: sluice peers install torch");
}

TEST_F(Launch, APythonWorkerRunsInItsGroup) {
  ASSERT_TRUE(install_environment(places(), "light", {}));
  const auto missing = command("pillow", "micro");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::unsupported);
  EXPECT_THAT(missing.error().message, HasSubstr("no adapter for 'pillow' in mode 'micro'"));

  put(places().adapters / "python" / "pillow_worker.py", "");
  const auto worker = command("pillow", "micro");
  ASSERT_TRUE(worker) << worker.error().message;
  const auto environment = find_environment(places(), "light");
  EXPECT_THAT(
      worker->command,
      ElementsAre(environment->python().string(),
                  (places().adapters / "python" / "pillow_worker.py").string(), "pillow", "micro"));
  EXPECT_EQ(worker->lock_hash, environment->lock_hash);
  EXPECT_THAT(command("pillow", "pipeline").error().message, HasSubstr("environment 'torch'"));
}

TEST_F(Launch, AnInterpreterThatIsAlreadyThereNeedsNoEnvironment) {
  EXPECT_EQ(python_variable("torch"), "SLUICE_PYTHON_TORCH");
  put(places().adapters / "python" / "training_worker.py", "");
  const std::string adapter = (places().adapters / "python" / "training_worker.py").string();
  places().own_pythons["torch"] = "python3";  // by PATH
  const auto worker = command("torch-max-autotune", "training", "micro-threads");
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_THAT(worker->command, ElementsAre((root() / "bin" / "python3").string(), adapter,
                                           "torch-max-autotune", "training"));
  EXPECT_EQ(worker->lock_hash.size(), 64U);
  EXPECT_EQ(calls(""), 0) << "no program is asked";

  fs::create_directories(root() / "venv");
  fs::create_symlink(root() / "bin" / "python3", root() / "venv" / "python");
  places().own_pythons["torch"] = (root() / "venv" / "python").string();
  const auto linked = command("torch-eager", "training", "micro-threads");
  EXPECT_EQ(linked->command[0], (root() / "venv" / "python").string()) << "links stay";
  EXPECT_NE(linked->lock_hash, worker->lock_hash);

  places().own_pythons["torch"] = "/no/such/python";
  const auto missing = command("torch-eager", "training", "micro-threads");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::unsupported);
  EXPECT_THAT(missing.error().message, HasSubstr("SLUICE_PYTHON_TORCH /no/such/python: is no"));
  EXPECT_THAT(command("pillow", "micro").error().message, HasSubstr("'light' is not installed"))
      << "of its own group only";
}

TEST_F(Launch, ANativeWorkerIsFoundBesideTheProgramOrUnderThePrefix) {
  EXPECT_THAT(
      command("opencv", "micro").error().message,
      "worker program 'opencv_worker' is not built; run: tools/setup --with bench && make build");
  for (const fs::path& folder :
       {root() / "libexec" / "sluice", root() / "bin", root() / "bin" / "bench"}) {
    fs::create_directories(folder);
    put_program(folder / "opencv_worker", "#!/bin/sh\n# " + folder.string() + "\n");
    const auto worker = command("opencv", "micro");
    ASSERT_TRUE(worker) << worker.error().message;
    EXPECT_THAT(worker->command, ElementsAre((folder / "opencv_worker").string()));
  }
}

TEST_F(Launch, WrongWordsAreErrors) {
  EXPECT_THAT(command("pilow", "micro").error().message, HasSubstr("did you mean 'pillow'?"));
  EXPECT_THAT(command("pyav", "micro").error().message,
              "library 'pyav' is not measured in mode 'micro'");
  const auto policy = command("sluice", "micro", "single");
  EXPECT_EQ(policy.error().code, Errc::usage);
  EXPECT_THAT(policy.error().message, HasSubstr("accepted: micro-single, "));
}

TEST(Variables, SinglePoliciesSetEveryThreadVariable) {
  for (const char* policy : {"micro-single", "pipeline-single-worker"}) {
    const auto variables = worker_variables({"OMP_NUM_THREADS=8"}, policy, true);
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                             "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"})
      EXPECT_THAT(variables, Contains(Pair(name, "1"))) << policy;
    EXPECT_THAT(variables, Contains(Key("MALLOC_TRIM_THRESHOLD_"))) << "no luck with the heap";
  }
  const auto untouched = worker_variables({"OMP_NUM_THREADS=8"}, "pipeline-default", true);
  EXPECT_THAT(untouched, Not(Contains(Key("OMP_NUM_THREADS"))));
  EXPECT_THAT(untouched, Not(Contains(Key("MKL_NUM_THREADS"))));
}

TEST(Variables, NothingThatMisleadsPythonAndNoSecretIsInherited) {
  const auto variables = worker_variables(
      {"PYTHONPATH=/elsewhere", "PYTHONHOME=/elsewhere", "PYTHONHASHSEED=7", "PATH=/bin",
       "AWS_SECRET_ACCESS_KEY=x", "hf_token=x", "https_proxy=http://me:word@proxy:1", "NOEQUALS"},
      "pipeline-default", true);
  for (const char* name :
       {"PYTHONPATH", "PYTHONHOME", "AWS_SECRET_ACCESS_KEY", "hf_token", "https_proxy"})
    EXPECT_THAT(variables, Contains(Pair(name, "")));
  EXPECT_THAT(variables, Contains(Pair("PYTHONHASHSEED", "0")));
  EXPECT_THAT(variables, Contains(Pair("PYTHONNOUSERSITE", "1")));
  EXPECT_THAT(variables, Not(Contains(Key("PATH"))));
}

TEST(Variables, LoadersRunAsTheirAuthorsShipThem) {
  for (const char* policy : {"pipeline-default", "loader-all-cores"}) {
    const auto variables = worker_variables({}, policy, true);
    EXPECT_THAT(variables, Not(Contains(Key("OMP_NUM_THREADS")))) << policy;
    EXPECT_THAT(variables, Not(Contains(Key("MALLOC_TRIM_THRESHOLD_")))) << policy;
  }
}

TEST(Variables, PeersPhoneNobody) {
  const auto variables = worker_variables({"ALBUMENTATIONS_NO_TELEMETRY=0"}, "micro-single", false);
  for (const char* name : {"ALBUMENTATIONS_NO_TELEMETRY", "ALBUMENTATIONS_OFFLINE",
                           "NO_ALBUMENTATIONS_UPDATE", "HF_HUB_OFFLINE", "DO_NOT_TRACK"})
    EXPECT_THAT(variables, Contains(Pair(name, "1")));
}

TEST(Places, AdaptersAreFoundAboveTheProgramOrUnderItsPrefix) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("sluice-places-" + std::to_string(getpid()));
  fs::create_directories(root / "prefix" / "bin");
  EXPECT_EQ(adapters_above(root / "prefix" / "bin" / "sluice"), fs::path());
  fs::create_directories(root / "prefix" / "share" / "sluice" / "adapters" / "python");
  EXPECT_EQ(adapters_above(root / "prefix" / "bin" / "sluice"),
            root / "prefix" / "share" / "sluice" / "adapters");
  fs::create_directories(root / "source" / "adapters" / "python");
  EXPECT_EQ(adapters_above(root / "source" / "build" / "dev" / "sluice"),
            root / "source" / "adapters");
  // An archive unpacked inside a checkout has its own.
  const fs::path unpacked = root / "source" / "build" / "unpacked";
  fs::create_directories(unpacked / "share" / "sluice" / "adapters" / "python");
  EXPECT_EQ(adapters_above(unpacked / "bin" / "sluice"),
            unpacked / "share" / "sluice" / "adapters");
  fs::remove_all(root);
}

}  // namespace
}  // namespace sluice::peers::launch_test
