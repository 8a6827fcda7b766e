// tests/plan/run_config_test.cpp - defaults, what is filled in, and the text of every refusal.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/run_config.h"

#include "sluice/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/plan_support.h"

namespace sluice::plan::run_config_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunConfig, EmptyDocumentIsRgbMicroOverEverything) {
  const auto run = read("");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(*run->selection.scenario, "image-rgb");
  EXPECT_EQ(run->mode(), Mode::micro);
  EXPECT_THAT(run->libraries(), ElementsAre("sluice", "albumentationsx", "torchvision", "kornia",
                                            "pillow", "opencv"));
  EXPECT_EQ(run->selection.transforms->size(), 57u);
  EXPECT_EQ(run->data.num_items, 1000);
  EXPECT_EQ(run->data.num_channels, 3);
  EXPECT_EQ(run->data.max_corrupt, 0);
  EXPECT_EQ(run->execution.num_runs, 5);
  EXPECT_EQ(run->execution.batch_size, 32);
  EXPECT_EQ(run->execution.workers, 0);
  EXPECT_EQ(run->execution.pipeline_scope, Scope::decode_dataloader_augment);
  EXPECT_EQ(run->execution.thread_policy, "micro-single");
  EXPECT_FALSE(run->on_cloud());
  EXPECT_EQ(run->cloud.disk_size_gb, 100);
  EXPECT_EQ(run->cloud.machine_type, "n1-standard-8");
}

TEST(RunConfig, ScenarioFollowsFromMediaAndChannelsWhenItIsNotNamed) {
  EXPECT_EQ(*read("selection: {multichannel: true}")->selection.scenario, "image-9ch");
  EXPECT_EQ(*read("data: {num_channels: 9}")->selection.scenario, "image-9ch");
  EXPECT_EQ(*read("selection: {media: video}")->selection.scenario, "video-16f");
  EXPECT_EQ(*read("selection: {media: video, mode: decode}")->selection.scenario,
            "video-decode-16f");
}

TEST(RunConfig, VideoDefaultsAreThoseOfItsPolicy) {
  const auto run = read("selection: {scenario: video-16f}");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->data.num_items, 50);
  EXPECT_EQ(run->data.clip_length, 16);
  EXPECT_EQ(run->selection.transforms->size(), 51u);
  EXPECT_EQ(run->selection.transforms->front(), "Affine");
}

TEST(RunConfig, PipelinesTakeAllItemsAndNormalizeIsNoRecipe) {
  const auto run = read("selection: {scenario: video-16f, mode: pipeline}");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->data.num_items);
  EXPECT_EQ(run->selection.transforms->size(), 50u);
  EXPECT_EQ(run->execution.thread_policy, "pipeline-default");
  EXPECT_THAT(run->libraries(), ElementsAre("sluice", "albumentationsx", "torchvision", "kornia"));
}

TEST(RunConfig, DecodeModeSelectsDecoders) {
  const auto run = read("selection: {scenario: video-decode-16f}");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->libraries(),
              ElementsAre("sluice", "opencv", "pyav", "torchvision", "torchcodec"));
  EXPECT_FALSE(run->selection.transforms);
  EXPECT_THAT(read("selection: {scenario: video-decode-16f, libraries: [pyav]}")->libraries(),
              ElementsAre("pyav"));
}

TEST(RunConfig, TransformsInDecodeModeAreANoteAndNotApplied) {
  const auto run = read("selection: {scenario: video-decode-16f, transforms: [Resize]}");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->selection.transforms);
  ASSERT_EQ(run->notes.size(), 1u);
  EXPECT_THAT(run->notes[0], HasSubstr("decode mode has no transforms"));
}

TEST(RunConfig, DefaultLibrariesAreThoseThatRunOnTheDevice) {
  EXPECT_THAT(read("selection: {scenario: image-rgb}\nexecution: {device: cuda}")->libraries(),
              ElementsAre("torchvision", "kornia"));
  EXPECT_THAT(read("selection: {scenario: image-rgb, mode: pipeline}\nexecution: {device: cuda}")
                  ->libraries(),
              ElementsAre("torchvision", "kornia", "dali"));
}

struct Refusal {
  const char* yaml;
  const char* message;
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithThePlaceAndWhatWouldBeAccepted) {
  EXPECT_THAT(error_of(GetParam().yaml), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, Refused,
    ::testing::Values(
        Refusal{"selection:\n  libary: [pillow]", "run.yaml:2: unknown key 'selection.libary'"},
        Refusal{"selection:\n  libraris: [pillow]", "nearest: 'libraries'"},
        Refusal{"exection: {}", "nearest: 'execution'"},
        Refusal{"version: 2", "run.yaml:1: version: '2' is not in [1, 1]"},
        Refusal{"selection: {scenario: image-rbg}", "nearest"},
        Refusal{"selection: {mode: macro}", "is not one of micro, pipeline, decode"},
        Refusal{"selection: {transform_set: paper}",
                "run.yaml:1: selection.transform_set: needs selection.scenario"},
        Refusal{"selection: {spec: mine.py}", "selection.peers"},
        Refusal{"data:\n  num_items: 0",
                "run.yaml:2: data.num_items: '0' is not in [1, 1000000000]"},
        Refusal{"data: {num_items: all}", "is not a whole number"},
        Refusal{"data: {num_channels: 4}", "data.num_channels: 4 is not a multiple of 3"},
        Refusal{"data: {num_channels: 6}", "data.num_channels: 6 is not the 3 of image-rgb"},
        Refusal{"data: {clip_length: 16}", "data.clip_length: image-rgb has no clips"},
        Refusal{"selection: {scenario: video-16f}\ndata: {clip_length: 8}",
                "8 is not the 16 of video-16f"},
        Refusal{"data: {max_corrupt: -1}", "is not at least 0"},
        Refusal{"execution: {num_runs: 0}", "execution.num_runs: '0' is not in [1, 1000]"},
        Refusal{"execution: {batch_size: 0}", "is not in [1, 1000000]"},
        Refusal{"execution: {num_runs: 9223372036854775808}", "execution.num_runs"},
        Refusal{"execution: {min_time: -1}", "is not in [0, 86400]"},
        Refusal{"execution: {device: gpu}", "is not one of none, cuda, auto"},
        Refusal{"execution: {pipeline_scope: memory}", "is not one of memory_dataloader_augment"},
        Refusal{"execution: {slow_threshold_sec_per_item: 0}", "is not above 0"},
        Refusal{"execution: {memory_limit: lots}", "execution.memory_limit"},
        Refusal{"cloud: {provider: aws}", "is not one of gcp"},
        Refusal{"cloud: {disk_size_gb: 10}", "cloud.disk_size_gb: '10' is not at least 20"}));

INSTANTIATE_TEST_SUITE_P(
    Rules, Refused,
    ::testing::Values(
        Refusal{"selection: {scenario: image-rgb}\nexecution:\n  workers: 2",
                "run.yaml:3: execution.workers: must be 0 in micro mode, is 2"},
        Refusal{"execution: {thread_policy: pipeline-default}",
                "micro mode always runs under micro-single"},
        Refusal{"selection: {scenario: image-rgb, libraries: [albumentationsx]}\nexecution: "
                "{device: cuda}",
                "execution.device: cuda is not accepted for albumentationsx in image-rgb micro; "
                "accepted: none"},
        Refusal{"selection: {scenario: image-rgb, mode: pipeline, libraries: [pillow]}\nexecution: "
                "{device: cuda}",
                "cuda is not accepted for pillow in image-rgb pipeline"},
        Refusal{"selection: {scenario: image-rgb, mode: pipeline, libraries: [dali]}",
                "none is not accepted for dali in image-rgb pipeline; accepted: cuda, auto"},
        Refusal{"selection: {scenario: image-rgb, mode: pipeline, libraries: [dali]}\n"
                "execution: {device: cuda, pipeline_scope: memory_dataloader_augment}",
                "dali has no memory_dataloader_augment"},
        Refusal{"selection: {scenario: image-rgb, mode: decode}",
                "image-rgb has no decode mode; it has micro, pipeline"},
        Refusal{"selection: {scenario: image-rgb, libraries: [pilow]}",
                "'pilow' is not in image-rgb micro; nearest: 'pillow'; available: sluice, "
                "albumentationsx"},
        Refusal{"selection: {scenario: image-9ch, libraries: [pillow]}",
                "'pillow' is not in image-9ch micro"},
        Refusal{"selection: {libraries: [pillow, pillow]}",
                "selection.libraries: 'pillow' is named twice"},
        Refusal{"selection: {libraries: []}", "has 0 of at least 1"},
        Refusal{"selection: {scenario: image-rgb, transforms: [Resise]}",
                "'Resise' is not one of the 57 of image-rgb micro; nearest: 'Resize'"},
        Refusal{"selection: {scenario: image-9ch, transforms: [ColorJitter]}",
                "'ColorJitter' is not one of the 41"},
        Refusal{"selection: {transforms: [Resize, Resize]}",
                "selection.transforms: 'Resize' is named twice"},
        Refusal{"selection: {scenario: video-16f, mode: pipeline, transforms: [Normalize]}",
                "'Normalize' is not one"},
        Refusal{"selection: {scenario: image-rgb, media: video}",
                "video is not the image of image-rgb"},
        Refusal{"selection: {scenario: image-rgb, multichannel: true}", "image-rgb has 3 channels"},
        Refusal{"selection: {media: video, multichannel: true}", "is for images"},
        Refusal{"selection: {decoders: [pyav]}", "micro mode has no decoders"},
        Refusal{"selection: {scenario: video-decode-16f, decoders: [decord]}",
                "'decord' is not in video-decode-16f"},
        Refusal{"selection: {scenario: image-rgb, mode: pipeline}\nexecution: {copy_to: cuda}",
                "execution.copy_to: copies batches in the scope "
                "decode_dataloader_augment_batch_copy"},
        Refusal{"data: {data_dir: photos, generated: true}",
                "data.generated: true, but data.data_dir names a folder"},
        Refusal{"cloud: {provider: gcp}\ndata: {gcs_uri: gs://a/b.tar}\noutput: {gcs_results_uri: "
                "gs://a/r}",
                "cloud.project: needed with cloud.provider"},
        Refusal{"cloud: {provider: gcp, project: p}\noutput: {gcs_results_uri: gs://a/r}",
                "data.gcs_uri: needed for a detached cloud run"},
        Refusal{"cloud: {provider: gcp, project: p}\ndata: {gcs_uri: gs://a/b.tar}",
                "output.gcs_results_uri: needed for a detached cloud run"},
        Refusal{"cloud: {provider: gcp, project: p, attached: true}\noutput: {gcs_results_uri: "
                "gs://a/r}",
                "data.remote_data_dir: needed for an attached cloud run, or data.gcs_uri"},
        Refusal{"cloud: {provider: gcp, project: p, attached: true}\ndata: {remote_data_dir: /d}",
                "output.gcs_results_uri: needed for an attached cloud run"},
        Refusal{"selection: {peers: {pillow: ./w}}", "'pillow' is a library already"},
        Refusal{"selection: {peers: {../x: ./w}}", "a name is made of"},
        Refusal{"selection: {peers: [./w]}", "is not a map of name to command"}));

TEST(RunConfig, EveryProblemIsReportedAtOnce) {
  const std::string message = error_of("data: {num_items: 0}\nexecution: {num_runs: 0}\ncolud: {}");
  EXPECT_THAT(message, HasSubstr("data.num_items"));
  EXPECT_THAT(message, HasSubstr("execution.num_runs"));
  EXPECT_THAT(message, HasSubstr("nearest: 'cloud'"));
}

TEST(RunConfig, ClipsOfHostLibrariesStayOnTheHost) {
  EXPECT_EQ(error_of("selection: {scenario: video-16f, libraries: [albumentationsx, kornia]}\n"
                     "execution: {device: cuda}"),
            "");
}

TEST(RunConfig, ItemsAreGeneratedWhereNoDataSetIsNamed) {
  EXPECT_TRUE(read("selection: {scenario: image-rgb}")->data.generated);
  EXPECT_FALSE(read("data: {data_dir: photos}")->data.generated);
  EXPECT_FALSE(read("data: {gcs_uri: gs://a/b.tar}")->data.generated);
  EXPECT_TRUE(read("data: {gcs_uri: gs://a/b.tar, generated: true}")->data.generated);
}

TEST(RunConfig, ResolvedYamlReadsBackAsTheSame) {
  for (const char* yaml :
       {kMicro, kPipeline, "selection: {scenario: video-decode-16f}",
        "selection: {scenario: image-rgb, libraries: [pillow], peers: {mine: [./w, --fast], other: "
        "w}}\n"
        "execution: {memory_limit: 2GiB, seed: 7, slow_threshold_sec_per_item: 0.1}\ndata: "
        "{data_dir: 'a: b'}",
        "cloud: {provider: gcp, project: p, timeout_hours: 2}\ndata: {gcs_uri: gs://a/b.tar}\n"
        "output: {gcs_results_uri: gs://a/r}"}) {
    const auto first = read(yaml);
    ASSERT_TRUE(first) << first.error().message;
    const auto second = read(to_yaml(*first));
    ASSERT_TRUE(second) << second.error().message << "\n" << to_yaml(*first);
    EXPECT_EQ(to_json(*first), to_json(*second)) << yaml;
    EXPECT_EQ(to_yaml(*first), to_yaml(*second));
  }
}

TEST(RunConfig, JsonNamesRecipesInPipelineMode) {
  const Json json = to_json(*read(kPipeline));
  EXPECT_EQ(json["selection"]["transforms"].size(), 57u);
  EXPECT_EQ(json["selection"]["transforms"][0], "RandomCrop224+Resize+Normalize+ToTensor");
  EXPECT_EQ(json["selection"]["transforms"][1], "RandomCrop224+Normalize+ToTensor");
  EXPECT_FALSE(json.contains("cloud"));
  EXPECT_EQ(to_json(*read(kMicro))["selection"]["transforms"][0], "Resize");
}

TEST(RunConfig, EveryKeyIsDescribed) {
  config::Schema schema;
  ASSERT_TRUE(RunConfig::parse(schema.blank()));
  EXPECT_EQ(schema.keys().size(), 1u + 10 + 8 + 17 + 2 + 16 + 7 + 6 + 6);
}

}  // namespace
}  // namespace sluice::plan::run_config_test
