// tests/measure/matrix_server_test.cpp - what a worker of the matrix answers beyond one case:
// prefixes, support, samples, what is in force.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/measure/worker/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/measure/support.h"
#include <array>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>

namespace sluice::measure::matrix_server_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Samples are item * 10 + draw.
class MatrixSubject final : public Subject {
 public:
  explicit MatrixSubject(std::string transform) : transform_(std::move(transform)) {}
  Result<std::string> check() override {
    if (transform_ == "Wrong") return Error{Errc::measurement, "pixel 3 is 7; expected 8"};
    if (transform_ == "Throws") throw std::runtime_error("library says no");
    return "digest of " + transform_;
  }
  void run_pass() override {}
  [[nodiscard]] std::int64_t items_per_pass() const override { return 3; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }
  [[nodiscard]] Json output_info() const override {
    return Json{{"shape", {1, 2, 1}}, {"dtype", "uint8"}};
  }
  Result<OutputSamples> sample(std::int64_t items, std::int64_t draws) override {
    OutputSamples samples;
    for (std::int64_t item = 0; item < items; ++item) {
      for (std::int64_t draw = 0; draw < draws; ++draw) {
        samples.shapes.push_back({1, 1, 1});
        samples.values.push_back(static_cast<float>(item * 10 + draw));
      }
    }
    return samples;
  }

 private:
  std::string transform_;
};

class MatrixServerTest : public ::testing::Test {
 protected:
  MatrixServerTest() {
    catalogue_.library = "testlib";
    catalogue_.version = "1.2";
    catalogue_.versions = {{"testlib", "1.2"}, {"zlib", "1.3"}};
    catalogue_.cases = {"Flip", "Wrong"};
    catalogue_.scenarios["image/micro/Named"] = [](const SubjectContext&) {
      return Result<std::unique_ptr<Subject>>(std::make_unique<MatrixSubject>("by name"));
    };
    catalogue_.prefixes["image/"] = [](const SubjectContext&) -> Result<std::unique_ptr<Subject>> {
      return Error{Errc::unsupported, "micro rows only"};
    };
    catalogue_.prefixes["image/micro/"] =
        [this](const SubjectContext& context) -> Result<std::unique_ptr<Subject>> {
      seen = context;
      const auto transform = context.spec.at("transform").get<std::string>();
      if (transform == "Unknown") return Error{Errc::unsupported, "testlib has no 'Unknown' yet"};
      return std::unique_ptr<Subject>(std::make_unique<MatrixSubject>(transform));
    };
    catalogue_.configure = [](const SubjectContext& context) -> Result<Json> {
      return Json{{"testlib", context.threads}};
    };
    catalogue_.load = [](const SubjectContext& context) -> Result<Json> {
      if (context.inputs_index == "bad") return Error{Errc::invalid_input, "bad: no index"};
      return Json{{"items", 3}, {"bytes", 30}};
    };
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
    client_.emplace(fds[0], fds[0]);
    thread_ = std::thread([this, fd = fds[1]] {
      LineChannel channel(fd, fd);
      (void)serve(channel, catalogue_, clock_);
    });
  }
  ~MatrixServerTest() override {
    client_.reset();
    thread_.join();
  }

  Json ask(const Json& request) {
    EXPECT_TRUE(client_->send(request));
    auto reply = client_->receive(30);
    EXPECT_TRUE(reply);
    return reply ? *reply : Json::object();
  }
  static Json one(const std::string& transform) {
    return Json{{"case", "image/micro/" + transform}, {"spec", {{"transform", transform}}}};
  }
  void prepare(const std::string& transform) {
    Json request = one(transform);
    request["type"] = "prepare";
    ASSERT_EQ(ask(request).at("type"), "prepare");
  }

  ManualClock clock_;
  Catalogue catalogue_;
  SubjectContext seen;
  std::optional<LineChannel> client_;
  std::thread thread_;
};

TEST_F(MatrixServerTest, HelloNamesCasesAndVersions) {
  const Json reply = ask(Json{{"type", "hello"}});
  EXPECT_EQ(reply.at("cases"), Json::parse(R"(["image/micro/Named","Flip","Wrong"])"));
  EXPECT_EQ(reply.at("versions").at("zlib"), "1.3");
}

TEST_F(MatrixServerTest, ConfigureSaysWhatIsInForceAndRefusesOtherDevices) {
  EXPECT_EQ(ask(Json{{"type", "configure"}, {"threads", 2}}),
            Json::parse(R"({"threads":2,"in_force":{"testlib":2},"type":"configure"})"));
  const Json cuda = ask(Json{{"type", "configure"}, {"threads", 1}, {"device", "cuda"}});
  EXPECT_EQ(cuda.at("code"), "unsupported");
  EXPECT_EQ(cuda.at("reason"), "no CUDA device");
  EXPECT_THAT(ask(Json{{"type", "configure"}, {"device", "tpu"}}).at("reason").get<std::string>(),
              HasSubstr("'tpu'"));
}

TEST_F(MatrixServerTest, LoadAnswersWhatIsResident) {
  EXPECT_EQ(ask(Json{{"type", "load"}, {"inputs", {{"index", "i"}, {"data", "d"}}}}),
            Json::parse(R"({"items":3,"bytes":30,"type":"load"})"));
  EXPECT_EQ(ask(Json{{"type", "load"}, {"inputs", {{"index", "bad"}}}}).at("reason"),
            "bad: no index");
}

TEST_F(MatrixServerTest, TheLongestPrefixServesWhatNoNameDoes) {
  prepare("Flip");
  EXPECT_EQ(seen.case_name, "image/micro/Flip");
  EXPECT_EQ(seen.spec.at("transform"), "Flip");
  EXPECT_FALSE(seen.synthetic);
  prepare("Named");
  EXPECT_EQ(seen.case_name, "image/micro/Flip") << "a scenario of that name comes first";
  EXPECT_EQ(ask(Json{{"type", "prepare"}, {"case", "image/pipeline/x"}}).at("reason"),
            "micro rows only");
  EXPECT_THAT(ask(Json{{"type", "prepare"}, {"case", "video/x"}}).at("reason").get<std::string>(),
              HasSubstr("no case 'video/x'"));
}

TEST_F(MatrixServerTest, SupportTriesEveryCaseOnASmallInput) {
  const Json reply =
      ask(Json{{"type", "support"},
               {"cases", {one("Flip"), one("Unknown"), one("Wrong"), one("Throws"), one("Blur")}}});
  EXPECT_EQ(reply.at("supported"), Json::parse(R"(["image/micro/Flip","image/micro/Blur"])"));
  EXPECT_EQ(reply.at("unsupported"), Json::parse(R"({
      "image/micro/Unknown":"testlib has no 'Unknown' yet",
      "image/micro/Wrong":"pixel 3 is 7; expected 8",
      "image/micro/Throws":"library says no"})"));
  EXPECT_TRUE(seen.synthetic);
  EXPECT_EQ(ask(Json{{"type", "support"}, {"cases", 5}}).at("type"), "error");
  EXPECT_EQ(ask(Json{{"type", "support"}, {"cases", {5}}}).at("type"), "error");
  EXPECT_EQ(ask(Json{{"type", "check"}}).at("reason"), "no case is prepared");
}

TEST_F(MatrixServerTest, CheckSaysWhatTheOutputIs) {
  prepare("Flip");
  EXPECT_EQ(
      ask(Json{{"type", "check"}}),
      Json::parse(R"({"shape":[1,2,1],"dtype":"uint8","digest":"digest of Flip","type":"check"})"));
}

TEST_F(MatrixServerTest, SamplesAreWrittenAsFloats) {
  const testing_support::TemporaryFolder folder;
  prepare("Flip");
  const std::string path = (folder / "samples.f32").string();
  const Json reply =
      ask(Json{{"type", "check"}, {"sample", {{"path", path}, {"items", 2}, {"draws", 2}}}});
  EXPECT_EQ(reply.at("samples").size(), 4U);
  EXPECT_EQ(reply.at("samples").at(3), Json::parse(R"({"shape":[1,1,1]})"));
  const auto bytes = read_binary_file(path);
  ASSERT_TRUE(bytes);
  std::vector<float> values(4);
  ASSERT_EQ(bytes->size(), 16U);
  std::memcpy(values.data(), bytes->data(), 16);
  EXPECT_THAT(values, ElementsAre(0, 1, 10, 11));
}

TEST_F(MatrixServerTest, SamplesThatCannotBeAreRefused) {
  prepare("Flip");
  for (const Json& wanted :
       {Json{{"items", 1}}, Json{{"path", "x"}, {"items", 4}}, Json{{"path", "x"}, {"items", 0}},
        Json{{"path", "x"}, {"draws", 0}}, Json{{"path", "no/such/folder/x"}}}) {
    const Json reply = ask(Json{{"type", "check"}, {"sample", wanted}});
    EXPECT_EQ(reply.at("type"), "error") << wanted.dump();
  }
}

}  // namespace
}  // namespace sluice::measure::matrix_server_test
