// tests/plan/jobs_test.cpp - jobs, their cases and what is sent to workers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/plan_support.h"

namespace sluice::plan::jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan planned(std::string_view yaml) {
  const auto run = read(yaml);
  EXPECT_TRUE(run) << run.error().message;
  auto plan = make_plan(run.value());
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(plan).value();
}

std::vector<std::string> names(const Job& job) {
  std::vector<std::string> list;
  for (const Case& item : job.cases)
    list.push_back(item.name);
  return list;
}

TEST(Jobs, AllJobsShareTheSameCasesInOrder) {
  const Plan plan = planned("selection: {scenario: image-rgb, transforms: [Rain, Resize]}");
  ASSERT_EQ(plan.jobs.size(), 6u);
  for (const Job& job : plan.jobs) {
    EXPECT_THAT(names(job), ElementsAre("image-rgb/micro/Rain", "image-rgb/micro/Resize"));
    EXPECT_EQ(job.thread_policy, "micro-single");
    EXPECT_EQ(job.unit, "img/s");
  }
  EXPECT_THAT(plan.jobs[5].row_libraries, ElementsAre("opencv", "opencv-wheel"));
  EXPECT_EQ(plan.jobs[5].output, "image-rgb/micro/opencv_micro_results.json");
  EXPECT_EQ(plan.expected_outputs.size(), 6u);
}

TEST(Jobs, SpecIsWhatPrepareSends) {
  const Plan plan =
      planned("selection: {scenario: image-9ch, libraries: [kornia], transforms: [Posterize]}");
  EXPECT_EQ(plan.jobs[0].cases[0].spec,
            Json::parse(R"({"scenario":"image-9ch","mode":"micro","transform":"Posterize",
      "params":{"bits":4},"channels":9,"clip_length":1})"));
  EXPECT_EQ(plan.jobs[0].cases[0].params,
            (std::map<std::string, std::string>{{"transform", "Posterize"}}));
}

TEST(Jobs, PipelineSpecCarriesTheRecipe) {
  const Plan plan = planned(
      "selection: {scenario: video-16f, mode: pipeline, libraries: [kornia], transforms: "
      "[Resize]}\n"
      "data: {num_items: 20}\n"
      "execution: {batch_size: 4, workers: 2, min_time: 0.5, min_batches: 3, device: cuda}");
  const Job& job = plan.jobs[0];
  EXPECT_EQ(job.cases[0].name, "video-16f/pipeline/RandomCrop224+Resize+Normalize+ToTensor");
  EXPECT_EQ(job.cases[0].spec,
            Json::parse(R"({"scenario":"video-16f","mode":"pipeline","transform":"Resize",
      "params":{"target_size":512,"interpolation":"bilinear"},"channels":3,"clip_length":16,
      "recipe":["RandomCrop224","Resize","Normalize","ToTensor"],"scope":"decode_dataloader_augment",
      "batch_size":4,"workers":2,"min_time_s":0.5,"min_batches":3})"));
  EXPECT_EQ(job.cases[0].params.at("scope"), "decode_dataloader_augment");
  EXPECT_EQ(job.cases[0].params.at("batch_size"), "4");
  EXPECT_EQ(job.cases[0].params.at("workers"), "2");
  EXPECT_EQ(job.unit, "clips/s");
  EXPECT_EQ(
      job.output,
      "video-16f/pipeline/kornia_decode_dataloader_augment_n20_r5_w2_b4_dev-cuda_results.json");
}

TEST(Jobs, KnownExclusionsAreNotAttemptedUnlessAsked) {
  const char* yaml =
      "selection: {scenario: image-rgb, libraries: [torchvision, kornia], transforms: [Shear, "
      "JpegCompression]}\n"
      "execution: {device: cuda}";
  const Plan plan = planned(yaml);
  EXPECT_FALSE(plan.jobs[0].cases[0].excluded);
  ASSERT_TRUE(plan.jobs[0].cases[1].excluded);
  EXPECT_EQ(plan.jobs[0].cases[1].excluded->status, measure::RowStatus::unsupported);
  EXPECT_TRUE(plan.jobs[1].cases[0].excluded);
  EXPECT_FALSE(plan.jobs[1].cases[1].excluded);
  Overrides over;
  over.set = {"execution.attempt_excluded=true"};
  const auto attempted = make_plan(*read(yaml, over));
  EXPECT_FALSE(attempted->jobs[1].cases[0].excluded);
}

TEST(Jobs, HostLibrariesOfVideoRunOnTheHostAndSaySo) {
  const Plan plan = planned(
      "selection: {scenario: video-16f, libraries: [albumentationsx, kornia]}\n"
      "execution: {device: cuda}");
  EXPECT_EQ(plan.jobs[0].device, "none");
  EXPECT_EQ(plan.jobs[0].output, "video-16f/micro/albumentationsx_micro_results.json");
  EXPECT_THAT(plan.jobs[0].labels, ElementsAre("runs on the host CPU"));
  EXPECT_EQ(plan.jobs[1].output, "video-16f/micro/kornia_micro_dev-cuda_results.json");
}

TEST(Jobs, BatchesAreCopiedToAGpuWhereverTransformsRan) {
  const std::string scope = "pipeline_scope: decode_dataloader_augment_batch_copy";
  const Plan plan = planned(
      "selection: {scenario: image-rgb, mode: pipeline, libraries: [sluice, albumentationsx, "
      "torchvision], transforms: [Pad]}\n"
      "execution: {device: cuda, " +
      scope + "}");
  ASSERT_EQ(plan.jobs.size(), 3u);
  for (const Job& job : plan.jobs) {
    EXPECT_EQ(job.copy_to, "cuda");
    EXPECT_EQ(job.cases[0].spec["copy_to"], "cuda");
  }
  EXPECT_EQ(plan.jobs[1].device, "none");
  EXPECT_THAT(plan.jobs[1].labels,
              ElementsAre("runs on the host CPU",
                          "transforms on the host CPU, then copies every batch to cuda"));
  EXPECT_EQ(plan.jobs[2].device, "cuda");
  const Plan on_host = planned(
      "selection: {scenario: image-rgb, mode: pipeline, libraries: [torchvision], transforms: "
      "[Pad]}\n"
      "execution: {" +
      scope + "}");
  EXPECT_EQ(on_host.jobs[0].device, "none");
  EXPECT_EQ(on_host.jobs[0].copy_to, "cuda");
  EXPECT_TRUE(planned(kMicro).jobs[0].copy_to.empty());
}

TEST(Jobs, FilesOfPipelinesAreNamedByTheirRuns) {
  const Plan plan = planned(
      "selection: {scenario: image-rgb, mode: pipeline, libraries: [sluice], transforms: [Pad]}\n"
      "execution: {num_runs: 3}");
  EXPECT_EQ(output_with_runs(plan.jobs[0], plan.config, 3), plan.jobs[0].output);
  EXPECT_NE(output_with_runs(plan.jobs[0], plan.config, 1), plan.jobs[0].output);
}

TEST(Jobs, DecodeHasOneCasePerDecoder) {
  const Plan plan = planned("selection: {scenario: video-decode-16f, decoders: [pyav, opencv]}");
  ASSERT_EQ(plan.jobs.size(), 2u);
  EXPECT_THAT(names(plan.jobs[1]), ElementsAre("video-decode-16f/decode/clip"));
  EXPECT_EQ(plan.jobs[1].output, "video-decode-16f/decode/opencv_decode_results.json");
  EXPECT_THAT(plan.jobs[1].row_libraries, ElementsAre("opencv"));
  EXPECT_EQ(plan.jobs[1].group, "torch");
  EXPECT_EQ(plan.jobs[0].cases[0].spec["clip_length"], 16);
}

TEST(Jobs, PeersOfTheUserAreMeasuredBeside) {
  const Plan plan = planned(
      "selection: {scenario: image-rgb, libraries: [pillow, mine], transforms: [Resize],\n"
      "            peers: {mine: [./worker, --fast]}}");
  ASSERT_EQ(plan.jobs.size(), 2u);
  EXPECT_EQ(plan.jobs[1].library, "mine");
  EXPECT_THAT(plan.jobs[1].command, ElementsAre("./worker", "--fast"));
  EXPECT_EQ(plan.jobs[1].output, "image-rgb/micro/mine_micro_results.json");
  EXPECT_THAT(names(plan.jobs[1]), ElementsAre("image-rgb/micro/Resize"));
}

TEST(Jobs, NothingToRunIsAnError) {
  const auto run = read("selection: {scenario: video-decode-16f}\nexecution: {device: cuda}");
  ASSERT_TRUE(run) << run.error().message;
  const auto plan = make_plan(*run);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message,
              HasSubstr("none of video-decode-16f decode runs on device 'cuda'"));
}

TEST(Jobs, JsonNamesEveryFileFromTheRunFolder) {
  const Json json = to_json(planned(kMicro));
  EXPECT_EQ(json["output_dir"], nullptr);
  EXPECT_EQ(json["expected_outputs"][0], "results/image-rgb/micro/pillow_micro_results.json");
  EXPECT_EQ(json["jobs"][0]["output_file"], json["expected_outputs"][0]);
  EXPECT_EQ(json["jobs"][0]["cases"].size(), 57u);
}

}  // namespace
}  // namespace sluice::plan::jobs_test
