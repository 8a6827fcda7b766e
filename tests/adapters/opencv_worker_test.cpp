// tests/adapters/opencv_worker_test.cpp - the C++ OpenCV worker as a process: the list of its page,
// every row checked, the same in every process.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/inputs/shared_inputs.h"
#include "sluice/measure/worker/worker.h"
#include "sluice/plan/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/image/support.h"
#include "tests/places.h"
#include <algorithm>
#include <sstream>

namespace sluice::opencv_worker_test {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr double kTimeoutS = 60;

/// Built with the tests where OpenCV is installed.
std::string worker_program() {
  return testing_support::build_dir() / "opencv_worker";
}

/// The first column of the table in adapters/opencv_recipes.md.
std::vector<std::string> names_of_the_page() {
  const auto text = read_text_file(testing_support::source_dir() / "adapters/opencv_recipes.md");
  EXPECT_TRUE(text);
  std::vector<std::string> names;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| transform ", 0) == 0) continue;
    std::istringstream cell(line.substr(2, line.find(" |", 2) - 2));
    for (std::string name; std::getline(cell, name, ',');)
      names.push_back(name.substr(name.find_first_not_of(' ')));
  }
  return names;
}

class OpencvWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(worker_program()))
      GTEST_SKIP() << "OpenCV is not installed (tools/setup --with bench): no worker to test";
    // Around 224, so that crops pad, fit exactly and have a choice.
    const std::vector<std::pair<int, int>> sizes = {{260, 240}, {100, 300}, {224, 224}, {33, 21}};
    std::filesystem::create_directories(folder_ / "data");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::uint8_t> bytes;
      image::Image image = image::testing::smooth_image(sizes[i].first, sizes[i].second);
      Rng rng({.seed = i});
      const auto span = image.span<std::uint8_t>();
      for (std::size_t k = 0; k < span.samples(); ++k)
        span.data()[k] = static_cast<std::uint8_t>(span.data()[k] + rng.below(40));
      ASSERT_TRUE(image::encode_png(bytes, image.view<std::uint8_t>(), 1));
      ASSERT_TRUE(write_file_atomic(folder_ / "data" / (std::to_string(i) + ".png"),
                                    {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    image::SharedInputsOptions options;
    options.data_dir = folder_ / "data";
    options.folder = folder_ / "inputs";
    auto written = image::write_shared_inputs(options);
    ASSERT_TRUE(written) << written.error().message;
    inputs_ = *written;
  }

  /// A worker that has been configured and has loaded the inputs.
  std::unique_ptr<measure::Worker> start() {
    measure::LaunchOptions options;
    options.command = {worker_program()};
    options.log_file = folder_ / "worker.log";
    options.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}};
    auto worker = launcher_.launch(options);
    EXPECT_TRUE(worker) << worker.error().message;
    hello_ = ask(**worker, {{"type", "hello"}, {"protocol", 1}});
    configured_ = ask(**worker, {{"type", "configure"}, {"threads", 1}, {"seed", 5}});
    const Json loaded =
        ask(**worker,
            {{"type", "load"},
             {"inputs", {{"index", inputs_.index.string()}, {"data", inputs_.data.string()}}}});
    EXPECT_EQ(loaded.value("items", 0), 4);
    return std::move(*worker);
  }
  static Json ask(measure::Worker& worker, const Json& request) {
    auto reply = worker.request(request, kTimeoutS);
    EXPECT_TRUE(reply) << request.dump() << ": " << reply.error().message;
    return reply ? *reply : Json::object();
  }
  static std::string refusal(measure::Worker& worker, const Json& request) {
    const auto reply = worker.request(request, kTimeoutS);
    EXPECT_FALSE(reply);
    return reply ? "" : reply.error().message;
  }
  static Json one(const std::string& name, const std::string& scenario = "image-rgb") {
    const plan::Transform* transform = plan::find_transform(name);
    return Json{{"case", scenario + "/micro/" + name},
                {"spec",
                 {{"scenario", scenario},
                  {"mode", "micro"},
                  {"transform", name},
                  {"params", transform == nullptr ? Json::object() : transform->params}}}};
  }
  static Json prepare(const std::string& name, const std::string& scenario = "image-rgb") {
    Json request = one(name, scenario);
    request["type"] = "prepare";
    return request;
  }

  testing_support::TemporaryFolder folder_;
  measure::ProcessLauncher launcher_;
  image::SharedInputs inputs_;
  Json hello_;
  Json configured_;
};

TEST_F(OpencvWorkerTest, OffersWhatThePageListsAndSaysWhyNotTheRest) {
  auto worker = start();
  EXPECT_EQ(hello_.at("name"), "opencv");
  EXPECT_EQ(configured_.at("in_force").at("opencv"), 1);
  EXPECT_EQ(configured_.at("in_force").at("opencl"), false);
  std::vector<std::string> offered;
  for (const Json& name : hello_.at("cases"))
    if (name.get<std::string>().rfind("decode/", 0) != 0)
      offered.push_back(name.get<std::string>());
  EXPECT_THAT(offered, UnorderedElementsAreArray(names_of_the_page()));
  Json cases = Json::array();
  for (const std::string& name : plan::all_transform_names())
    cases.push_back(one(name));
  const Json support = ask(*worker, {{"type", "support"}, {"cases", cases}});
  EXPECT_EQ(support.at("supported").size(), offered.size()) << support.at("unsupported").dump(1);
  for (const auto& [name, reason] : support.at("unsupported").items())
    EXPECT_EQ(reason, "opencv has no one-call or documented recipe for '" +
                          name.substr(name.rfind('/') + 1) + "'");
  EXPECT_THAT(refusal(*worker, prepare("Blur", "image-9ch")), HasSubstr("9 channels"));
}

TEST_F(OpencvWorkerTest, EveryRowIsRightAndTheSameInEveryProcess) {
  auto first = start();
  auto second = start();
  for (const std::string& name : names_of_the_page()) {
    EXPECT_EQ(ask(*first, prepare(name)).value("items_per_pass", 0), 4) << name;
    ask(*second, prepare(name));
    const Json checked = ask(*first, {{"type", "check"}});
    EXPECT_EQ(checked.value("digest", "none"),
              ask(*second, {{"type", "check"}}).value("digest", ""))
        << name;
    EXPECT_EQ(checked.at("shape").size(), 3U) << name;
    const Json timed = ask(*first, {{"type", "measure"}, {"passes", 1}, {"warmup_ms", 0}});
    EXPECT_EQ(timed.value("items_per_sample", 0), 4) << name;
    EXPECT_EQ(ask(*first, {{"type", "check"}}).value("digest", ""), checked.value("digest", "none"))
        << name << ": a pass must not change what is checked";
  }
  first->finish();
  second->finish();
}

TEST_F(OpencvWorkerTest, SamplesAreTheDrawsOfTheFirstItems) {
  auto worker = start();
  ask(*worker, prepare("Rotate"));
  const auto path = folder_ / "samples.f32";
  const Json checked =
      ask(*worker,
          {{"type", "check"}, {"sample", {{"path", path.string()}, {"items", 2}, {"draws", 3}}}});
  ASSERT_EQ(checked.at("samples").size(), 6U);
  EXPECT_EQ(checked.at("samples").at(0).at("shape"), Json({240, 260, 3}));
  EXPECT_EQ(std::filesystem::file_size(path), 4U * 3 * 3 * (240 * 260 + 300 * 100));
}

TEST_F(OpencvWorkerTest, WrongParametersAreRefusedByName) {
  auto worker = start();
  Json request = prepare("Resize");
  request["spec"]["params"] = Json::object();
  EXPECT_THAT(refusal(*worker, request), HasSubstr("'target_size'"));
  request["spec"]["params"] = Json{{"target_size", 1e9}};
  EXPECT_THAT(refusal(*worker, request), HasSubstr("1 to 16384"));
  request = prepare("MedianBlur");
  request["spec"]["params"] = Json{{"blur_limit", 4}};
  EXPECT_THAT(refusal(*worker, request), HasSubstr("cv::Exception: OpenCV"))
      << "the library's own text";
  EXPECT_THAT(refusal(*worker, prepare("Nothing")), HasSubstr("recipe for 'Nothing'"));
}

}  // namespace
}  // namespace sluice::opencv_worker_test
