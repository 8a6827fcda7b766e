// tests/env/variables_test.cpp - which variables are kept, and that no secret is.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/variables.h"

#include <gtest/gtest.h>

namespace sluice::env::variables_test {
namespace {

using Map = std::map<std::string, std::string>;

TEST(SelectVariables, KeepsThreadsDevicesAndCommunication) {
  EXPECT_EQ(select_variables({"OMP_NUM_THREADS=4", "MKL_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=1",
                              "NCCL_DEBUG=INFO", "CUDA_VISIBLE_DEVICES=0,1", "WORLD_SIZE=8",
                              "SLUICE_LOG_LEVEL=debug", "TOKENIZERS_PARALLELISM=false",
                              "EMPTY_NOT_WANTED=", "OMP_EMPTY="}),
            (Map{{"OMP_NUM_THREADS", "4"},
                 {"MKL_NUM_THREADS", "2"},
                 {"OPENBLAS_NUM_THREADS", "1"},
                 {"NCCL_DEBUG", "INFO"},
                 {"CUDA_VISIBLE_DEVICES", "0,1"},
                 {"WORLD_SIZE", "8"},
                 {"SLUICE_LOG_LEVEL", "debug"},
                 {"TOKENIZERS_PARALLELISM", "false"},
                 {"OMP_EMPTY", ""}}));
}

TEST(SelectVariables, LeavesTheRestAndEverySecret) {
  EXPECT_EQ(select_variables({"PATH=/bin", "USER=alice", "HOSTNAME=box", "AWS_SECRET_ACCESS_KEY=x",
                              "SLUICE_API_KEY=x", "NCCL_TOKEN=x", "TORCH_secret=x",
                              "SLUICE_DB_PASSWORD=x", "CUDA_AUTH=x", "SLUICE_CREDENTIALS=x",
                              "NVIDIA_REQUIRE_CUDA=long", "broken", "=x", "OMP"}),
            Map{});
}

TEST(SelectVariables, BlanksPeopleHostsAndIds) {
  EXPECT_EQ(
      select_variables({"HOME=/data/people/bob", "SLUICE_A=/home/alice/data:/home/bob",
                        "SLUICE_B=/root/x", "SLUICE_C=/data/people/bob/x", "SLUICE_D=/rootfs/x",
                        "SLUICE_E=https://me:word@server/x", "MASTER_ADDR=10.0.0.7",
                        "CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c,MIG-77", "SLUICE_F=a\x1b[31m\xff"}),
      (Map{{"SLUICE_A", "~/data:~"},
           {"SLUICE_B", "~/x"},
           {"SLUICE_C", "~/x"},
           {"SLUICE_D", "/rootfs/x"},
           {"SLUICE_E", "https://<hidden>@server/x"},
           {"MASTER_ADDR", "<hidden>"},
           {"CUDA_VISIBLE_DEVICES", "GPU-<hidden>,MIG-<hidden>"},
           {"SLUICE_F", "a\\x1b[31m\\xff"}}));
}

TEST(SelectVariables, ShortensWhatIsLong) {
  const auto selected = select_variables({"OMP_PLACES=" + std::string(10'000, 'x')});
  EXPECT_EQ(selected.at("OMP_PLACES").size(), 515U);
}

TEST(WithoutHomes, InFlagsAndLists) {
  EXPECT_EQ(without_homes("-I/home/alice/include -I/opt"), "-I~/include -I/opt");
  EXPECT_EQ(without_homes("-ffile-prefix-map=/root/a=."), "-ffile-prefix-map=~/a=.");
  EXPECT_EQ(without_homes("-L/root/lib:/home/bob"), "-L~/lib:~");
  EXPECT_EQ(without_homes("/srv/root/x /rooted"), "/srv/root/x /rooted");
  EXPECT_EQ(without_homes("/srv/home/alice"), "/srv~");  // a name all the same
  EXPECT_EQ(without_homes(""), "");
}

}  // namespace
}  // namespace sluice::env::variables_test
