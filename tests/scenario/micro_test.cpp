// tests/scenario/micro_test.cpp - micro rows: inputs, checks, samples, and our own Resize.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/micro.h"

#include "sluice/image/npy.h"
#include "sluice/image/resize/resize.h"
#include "sluice/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/image/support.h"
#include <atomic>
#include <stdexcept>

namespace sluice::scenario::micro_test {
namespace {

using image::Image;
using ::testing::HasSubstr;
using View = image::ImageView<std::uint8_t>;

/// Does what `work` says, and draws one number per item.
class FakeOp final : public MicroOp {
 public:
  using Work = std::function<Image(View input, std::uint64_t drawn)>;
  FakeOp(const MicroInputs& inputs, Work work) : inputs_(inputs), work_(std::move(work)) {}
  void run(std::size_t index, std::size_t slot, Rng& rng) override {
    ++runs;
    const std::uint64_t drawn = rng.below(200);
    slots_[slot].clear();
    for (int f = 0; f < inputs_.frames(index); ++f)
      slots_[slot].push_back(work_(inputs_.view(index, f), drawn));
  }
  [[nodiscard]] std::vector<View> output(std::size_t slot) const override {
    std::vector<View> views;
    for (const Image& image : slots_[slot])
      views.push_back(image.view<std::uint8_t>());
    return views;
  }
  inline static std::atomic<int> runs{0};

 private:
  const MicroInputs& inputs_;
  Work work_;
  std::array<std::vector<Image>, kMicroSlots> slots_;
};

Image brighter(View input, std::uint64_t by) {
  auto output = Image::make(input.width(), input.height(), input.channels());
  for (std::size_t k = 0; k < input.samples(); ++k)
    output->span<std::uint8_t>().data()[k] = static_cast<std::uint8_t>(input.data()[k] + by);
  return std::move(*output);
}

class MicroTest : public ::testing::Test {
 protected:
  /// Items of random shape, `channels` each, as shared inputs.
  void load(measure::Catalogue& catalogue, int items, int channels = 3) {
    Rng rng({.seed = 3});
    for (int i = 0; i < items; ++i) {
      inputs.push_back(image::testing::random_image<std::uint8_t>(
          static_cast<int>(2 + rng.below(50)), static_cast<int>(2 + rng.below(50)), channels,
          static_cast<std::uint64_t>(i)));
      std::vector<std::uint8_t> bytes;
      ASSERT_TRUE(image::encode_npy(bytes, inputs.back().view<std::uint8_t>()));
      std::filesystem::create_directories(folder_ / "data");
      ASSERT_TRUE(write_file_atomic(folder_ / "data" / (std::to_string(100 + i) + ".npy"),
                                    {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    image::SharedInputsOptions options;
    options.data_dir = folder_ / "data";
    options.folder = folder_ / "out";
    options.channels = channels;
    const auto written = image::write_shared_inputs(options);
    ASSERT_TRUE(written) << written.error().message;
    context.inputs_index = written->index;
    context.inputs_data = written->data;
    const auto answer = catalogue.load(context);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("items"), items);
  }
  static measure::Catalogue fake(FakeOp::Work work) {
    measure::Catalogue catalogue;
    add_micro(
        catalogue, {"Any"},
        [work](const MicroCase&, const MicroInputs& items) -> Result<std::unique_ptr<MicroOp>> {
          return std::unique_ptr<MicroOp>(std::make_unique<FakeOp>(items, work));
        });
    return catalogue;
  }
  Result<std::unique_ptr<measure::Subject>> make(const measure::Catalogue& catalogue,
                                                 const std::string& name,
                                                 const Json& params = Json::object()) {
    context.case_name = name;
    context.spec = Json{{"transform", name.substr(name.rfind('/') + 1)}, {"params", params}};
    const std::string prefix = name.substr(0, name.rfind('/') + 1);
    const auto found = catalogue.prefixes.find(prefix);
    if (found == catalogue.prefixes.end()) return Error{Errc::internal, "no prefix " + prefix};
    return found->second(context);
  }

  testing_support::TemporaryFolder folder_;
  std::vector<Image> inputs;
  measure::SubjectContext context;
};

TEST_F(MicroTest, OurResizeRowIsOurResize) {
  for (const int channels : {3, 9}) {
    measure::Catalogue ours = catalogue();
    inputs.clear();
    std::filesystem::remove_all(folder_ / "data");
    load(ours, 5, channels);
    auto subject = make(ours, channels == 3 ? "image-rgb/micro/Resize" : "image-9ch/micro/Resize",
                        Json{{"target_size", 64}, {"interpolation", "bilinear"}});
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ((*subject)->items_per_pass(), 5);
    EXPECT_EQ((*subject)->bytes_per_item(), 64.0 * 64 * channels);
    const auto digest = (*subject)->check();
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_EQ((*subject)->output_info().at("shape"), Json({64, 64, channels}));
    (*subject)->run_pass();
    EXPECT_EQ(*(*subject)->check(), *digest);
    const auto samples = (*subject)->sample(5, 1);
    ASSERT_TRUE(samples);
    std::size_t at = 0;
    for (const Image& input : inputs) {
      auto want = Image::make(64, 64, channels);
      image::BilinearResizer resizer;
      ASSERT_TRUE(resizer.run(want->span<std::uint8_t>(), input.view<std::uint8_t>()));
      const View view = want->view<std::uint8_t>();
      for (std::size_t k = 0; k < view.samples(); ++k)
        ASSERT_EQ(samples->values[at++], view.data()[k]);
    }
  }
}

TEST_F(MicroTest, WhatWeDoNotHaveIsSaid) {
  measure::Catalogue ours = catalogue();
  load(ours, 1);
  EXPECT_EQ(make(ours, "image-rgb/micro/Sepia").error().message, "sluice has no 'Sepia' yet");
  EXPECT_EQ(make(ours, "image-rgb/micro/Sepia").error().code, Errc::unsupported);
  EXPECT_THAT(
      make(ours, "image-rgb/micro/Resize", Json{{"target_size", 8}, {"interpolation", "bicubic"}})
          .error()
          .message,
      HasSubstr("interpolation \"bicubic\": accepted is one of bilinear"));
  EXPECT_THAT(make(ours, "image-rgb/micro/Resize", Json{{"target_size", 0}}).error().message,
              HasSubstr("target_size 0"));
  context.case_name = "image-rgb/pipeline/RandomCrop224+Resize";
  EXPECT_EQ(ours.prefixes.at("image-rgb/")(context).error().message,
            "sluice has no 'pipeline/RandomCrop224+Resize' yet");
}

TEST_F(MicroTest, ThreadsShareTheItems) {
  measure::Catalogue any =
      fake([](View input, std::uint64_t drawn) { return brighter(input, drawn + 1); });
  load(any, 20);
  const auto digest = (*make(any, "image-rgb/micro/Any"))->check();
  context.threads = 3;
  auto subject = make(any, "image-rgb/micro/Any");
  ASSERT_TRUE(subject);
  EXPECT_EQ(*(*subject)->check(), *digest);
  FakeOp::runs = 0;
  (*subject)->run_pass();
  EXPECT_EQ(FakeOp::runs, 20);
}

TEST_F(MicroTest, SupportNeedsNoInputsAndClipsAreFrames) {
  const measure::Catalogue ours = catalogue();
  context.synthetic = true;
  for (const char* scenario : {"image-rgb", "image-9ch", "video-16f"}) {
    auto subject = make(ours, std::string(scenario) + "/micro/Resize", Json{{"target_size", 32}});
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ((*subject)->items_per_pass(), 1);
    EXPECT_TRUE((*subject)->check()) << scenario;
  }
  auto clips = make(ours, "video-16f/micro/Resize", Json{{"target_size", 32}});
  ASSERT_TRUE((*clips)->check());
  EXPECT_EQ((*clips)->output_info().at("shape"), Json({16, 32, 32, 3}));
}

TEST_F(MicroTest, InputsMustFitTheRow) {
  measure::Catalogue ours = catalogue();
  EXPECT_THAT(make(ours, "image-rgb/micro/Resize").error().message, HasSubstr("`load`"));
  load(ours, 2);
  EXPECT_THAT(make(ours, "image-9ch/micro/Resize", Json{{"target_size", 8}}).error().message,
              HasSubstr("9 channels, loaded item 0 has 3"));
  EXPECT_THAT(make(ours, "video-16f/micro/Resize", Json{{"target_size", 8}}).error().message,
              HasSubstr("works on clips"));
  context.inputs_index = folder_ / "none";
  EXPECT_THAT(ours.load(context).error().message, HasSubstr("none"));
}

TEST_F(MicroTest, NumItemsLimitsTheItems) {
  measure::Catalogue any = fake(brighter);
  load(any, 6);
  context.num_items = 2;
  EXPECT_EQ(any.load(context)->at("items"), 2);
  EXPECT_EQ((*make(any, "image-rgb/micro/Any"))->items_per_pass(), 2);
}

TEST_F(MicroTest, DrawsAreTheSameInEveryCheckAndFreshInEveryPass) {
  measure::Catalogue any =
      fake([](View input, std::uint64_t drawn) { return brighter(input, drawn + 1); });
  load(any, 20);
  auto first = make(any, "image-rgb/micro/Any");
  auto second = make(any, "image-rgb/micro/Any");
  ASSERT_TRUE(first);
  const auto digest = (*first)->check();
  ASSERT_TRUE(digest) << digest.error().message;
  (*first)->run_pass();
  EXPECT_EQ(*(*first)->check(), *digest);
  EXPECT_EQ(*(*second)->check(), *digest);
  context.seed = 9;
  EXPECT_NE(*(*make(any, "image-rgb/micro/Any"))->check(), *digest);
  const auto samples = (*first)->sample(1, 3);
  ASSERT_EQ(samples->shapes.size(), 3U);
  const std::size_t one = samples->values.size() / 3;
  EXPECT_NE(samples->values[0], samples->values[one]) << "each draw has its own parameters";
}

TEST_F(MicroTest, APassIsDividedByItems) {
  measure::Catalogue any = fake(brighter);
  load(any, 7);
  auto subject = make(any, "image-rgb/micro/Any");
  FakeOp::runs = 0;
  EXPECT_EQ((*subject)->run_items(0, 3), 3);
  EXPECT_EQ((*subject)->run_items(5, 10), 2);
  EXPECT_EQ((*subject)->run_items(7, 1), 0);
  EXPECT_EQ(FakeOp::runs, 5);
  (*subject)->run_pass();
  EXPECT_EQ(FakeOp::runs, 12);
}

TEST_F(MicroTest, WhatTheLibraryThrowsIsTheReason) {
  int calls = 0;
  measure::Catalogue any = fake([&calls](View input, std::uint64_t) -> Image {
    if (++calls > 1) throw std::runtime_error("lib::Error: 9 channels\nare too many");
    return brighter(input, 1);
  });
  load(any, 2);
  auto subject = make(any, "image-rgb/micro/Any");
  ASSERT_TRUE(subject);
  const auto checked = (*subject)->check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::unsupported);
  EXPECT_EQ(checked.error().message, "lib::Error: 9 channels\\nare too many");
  const auto second = make(any, "image-rgb/micro/Any");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::unsupported);
}

TEST_F(MicroTest, OutputsThatCannotBeRightFail) {
  measure::Catalogue keeps = fake([](View input, std::uint64_t) { return brighter(input, 0); });
  load(keeps, 2);
  const auto message = [&](const measure::Catalogue& from, const char* name, const Json& params) {
    auto subject = make(from, std::string("image-rgb/micro/") + name, params);
    EXPECT_TRUE(subject);
    const auto digest = (*subject)->check();
    EXPECT_FALSE(digest.has_value()) << name;
    if (digest) return std::string();
    EXPECT_EQ(digest.error().code, Errc::measurement);
    return digest.error().message;
  };
  EXPECT_THAT(message(keeps, "Blur", Json::object()), HasSubstr("the output is the input"));
  EXPECT_THAT(message(keeps, "HorizontalFlip", Json::object()), HasSubstr("left and right"));
  EXPECT_THAT(message(keeps, "Pad", Json{{"padding", 1}, {"fill", 0}}), HasSubstr("output is"));
  EXPECT_THAT(message(keeps, "RandomCrop224", Json{{"height", 2}, {"width", 1}}),
              HasSubstr("output is"));
  measure::Catalogue fewer = fake([](View input, std::uint64_t) {
    return std::move(*Image::make(input.width(), input.height(), 1));
  });
  ASSERT_TRUE(fewer.load(context));
  EXPECT_THAT(message(fewer, "Blur", Json::object()), HasSubstr("1 channels, the input 3"));
}

TEST_F(MicroTest, ParametersThatAreMissingAreNamed) {
  measure::Catalogue any = fake(brighter);
  load(any, 1);
  auto subject = make(any, "image-rgb/micro/Pad");
  const auto digest = (*subject)->check();
  ASSERT_FALSE(digest);
  EXPECT_THAT(digest.error().message, HasSubstr("padding"));
  context.case_name = "image-rgb/micro/Pad";
  context.spec = Json{{"params", 5}};
  EXPECT_THAT(any.prefixes.at("image-rgb/micro/")(context).error().message, HasSubstr("params"));
  context.spec = Json{{"channels", 4}};
  EXPECT_THAT(any.prefixes.at("image-rgb/micro/")(context).error().message,
              HasSubstr("4 (3 or 9)"));
}

}  // namespace
}  // namespace sluice::scenario::micro_test
