// tests/image/shared_inputs_test.cpp - written once, mapped by all: what is in, what is left out,
// what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/shared_inputs.h"

#include "sluice/core/json.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/image/support.h"
#include <csignal>
#include <fstream>
#include <sys/resource.h>

namespace sluice::image::shared_inputs_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SharedInputsTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::vector<std::uint8_t>& bytes) {
    fs::create_directories((data() / name).parent_path());
    std::ofstream file(data() / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }
  /// A lossless image, so that its pixels are known.
  Image put_png(const std::string& name, int width, int height, int channels = 3,
                std::uint64_t seed = 1) {
    Image image = testing::random_image<std::uint8_t>(width, height, channels, seed);
    std::vector<std::uint8_t> bytes;
    EXPECT_TRUE(encode_png(bytes, image.view<std::uint8_t>()));
    put(name, bytes);
    return image;
  }
  Image put_npy(const std::string& name, int width, int height, int channels) {
    Image image = testing::random_image<std::uint8_t>(width, height, channels, 5);
    std::vector<std::uint8_t> bytes;
    EXPECT_TRUE(encode_npy(bytes, image.view<std::uint8_t>()));
    put(name, bytes);
    return image;
  }
  Result<SharedInputs> write() {
    fs::create_directories(data());
    options.data_dir = data();
    options.folder = folder_ / "out";
    return write_shared_inputs(options);
  }
  static MappedInputs map(const SharedInputs& written) {
    auto inputs = MappedInputs::open(written.index, written.data);
    EXPECT_TRUE(inputs) << inputs.error().message;
    return std::move(*inputs);
  }
  [[nodiscard]] std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    if (fs::exists(folder_ / "out"))
      for (const auto& entry : fs::directory_iterator(folder_ / "out"))
        names.push_back(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] fs::path data() const { return folder_ / "data"; }

  testing_support::TemporaryFolder folder_;
  SharedInputsOptions options;
};

TEST_F(SharedInputsTest, ImagesOfAnyShapeAreThereInOrder) {
  Rng rng({.seed = 11});
  std::vector<Image> want;
  for (int i = 0; i < 23; ++i)
    want.push_back(put_png("sub" + std::to_string(i % 3) + "/" + std::to_string(100 + i) + ".png",
                           static_cast<int>(1 + rng.below(70)), static_cast<int>(1 + rng.below(70)),
                           3, static_cast<std::uint64_t>(i)));
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, 23);
  EXPECT_EQ(written->bytes, static_cast<std::int64_t>(fs::file_size(written->data)));
  EXPECT_THAT(written->skipped, IsEmpty());
  const MappedInputs inputs = map(*written);
  ASSERT_EQ(inputs.size(), 23U);
  EXPECT_FALSE(inputs.clips());
  const auto names = list_images(data());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(inputs.item(i).name, (*names)[i]);
    EXPECT_EQ(inputs.item(i).offset % 64, 0U);
    const std::size_t number =
        static_cast<std::size_t>(std::stoi(fs::path(inputs.item(i).name).stem().string()) - 100);
    EXPECT_EQ(testing::max_difference(inputs.view(i), want[number].view<std::uint8_t>()), 0) << i;
  }
  EXPECT_EQ(written->dataset_hash, inspect_dataset(data(), {})->hash);
}

TEST_F(SharedInputsTest, TheIndexIsThatOfTheContract) {
  put_png("b.png", 2, 3);
  put_png("a.png", 5, 4);
  const auto written = write();
  ASSERT_TRUE(written);
  EXPECT_EQ(Json::parse(*read_text_file(written->index)), Json::parse(R"({"version":1,
      "layout":"HWC","dtype":"uint8","items":[{"name":"a.png","offset":0,"shape":[4,5,3]},
      {"name":"b.png","offset":64,"shape":[3,2,3]}]})"));
}

TEST_F(SharedInputsTest, JpegAndUpperCaseSuffixesCount) {
  std::vector<std::uint8_t> bytes;
  ASSERT_TRUE(encode_jpeg(bytes, testing::smooth_image(20, 10).view<std::uint8_t>()));
  put("A.JPG", bytes);
  put("b.jpeg", bytes);
  put("notes.txt", bytes);
  put(".hidden.jpg", bytes);
  EXPECT_EQ(write()->items, 2);
}

TEST_F(SharedInputsTest, GreyImagesAreLeftOutButAreNotDamaged) {
  put_png("colour.png", 4, 4);
  put_png("grey.png", 4, 4, 1);
  put_png("grey_alpha.png", 4, 4, 2);
  put_npy("plane.npy", 4, 4, 1);
  put("grey.jpg", testing::corpus_file("jpeg_grey.jpg"));
  put("palette.png", testing::corpus_file("png_palette8.png"));
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, 2);
  EXPECT_EQ(written->not_colour.size(), 4U);
  EXPECT_EQ(written->not_colour.front().name, "grey.jpg");
  EXPECT_THAT(written->skipped, IsEmpty());
}

TEST_F(SharedInputsTest, DamagedFilesAmongGoodOnesAreCountedAndNamed) {
  put_png("a.png", 4, 4);
  put("b.jpg", testing::corpus_file("jpeg_truncated.jpg"));
  put("c.png", {'n', 'o'});
  put("d.bmp", {1, 2, 3});
  put_png("e.png", 4, 4);
  options.max_corrupt = 3;
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, 2);
  ASSERT_EQ(written->skipped.size(), 3U);
  EXPECT_EQ(written->skipped[0].name, "b.jpg");
  EXPECT_FALSE(written->skipped[0].reason.empty());
  EXPECT_THAT(written->skipped[2].reason, HasSubstr(".bmp"));
  EXPECT_EQ(map(*written).item(1).name, "e.png");
}

TEST_F(SharedInputsTest, MoreDamageThanToleratedIsOneLineAndLeavesNothing) {
  put_png("a.png", 4, 4);
  for (int i = 0; i < 7; ++i)
    put("bad" + std::to_string(i) + ".jpg", {'x'});
  options.max_corrupt = 2;
  const auto written = write();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::invalid_input);
  EXPECT_THAT(written.error().message, HasSubstr("7 files cannot be read, 2 tolerated"));
  EXPECT_THAT(written.error().message, HasSubstr("bad0.jpg"));
  EXPECT_THAT(written.error().message, HasSubstr("--set data.max_corrupt=N"));
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST_F(SharedInputsTest, AFolderOfRubbishIsGivenUpEarly) {
  for (int i = 0; i < 400; ++i)
    put("bad" + std::to_string(i) + ".jpg", {'x'});
  const auto written = write();
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("at least 1"));
}

TEST_F(SharedInputsTest, LimitCountsUsableFilesAndForgetsTheRest) {
  put("a.jpg", {'x'});
  for (int i = 0; i < 40; ++i)
    put_png("b" + std::to_string(10 + i) + ".png", 3, 3, i % 2 == 0 ? 3 : 1);
  put("c.jpg", {'x'});
  options.limit = 5;
  options.max_corrupt = 1;
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, 5);
  EXPECT_EQ(written->skipped.size(), 1U);
  EXPECT_EQ(written->not_colour.size(), 4U);
  EXPECT_EQ(map(*written).item(4).name, "b18.png");
}

TEST_F(SharedInputsTest, NineChannelsAreThreeCopiesUnlessTheFileHasNine) {
  const Image rgb = put_png("a.png", 7, 5);
  const Image nine = put_npy("b.npy", 6, 4, 9);
  put_npy("c.npy", 6, 4, 5);
  options.channels = 9;
  options.max_corrupt = 1;
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->skipped.at(0).reason, HasSubstr("5 channels"));
  const MappedInputs inputs = map(*written);
  ASSERT_EQ(inputs.size(), 2U);
  ASSERT_EQ(inputs.item(0).channels, 9);
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 7; ++x)
      for (int c = 0; c < 9; ++c)
        ASSERT_EQ(inputs.view(0).at(x, y, c), rgb.view<std::uint8_t>().at(x, y, c % 3));
  EXPECT_EQ(testing::max_difference(inputs.view(1), nine.view<std::uint8_t>()), 0);
}

TEST_F(SharedInputsTest, FoldersWithoutUsableFilesAreRefused) {
  EXPECT_THAT(write().error().message, HasSubstr("no images"));
  put_png("grey.png", 4, 4, 1);
  EXPECT_THAT(write().error().message, HasSubstr("1 not in colour"));
  EXPECT_THAT(left_behind(), IsEmpty());
  options.channels = 4;
  EXPECT_THAT(write().error().message, HasSubstr("3 and 9"));
}

TEST_F(SharedInputsTest, AFullDiskIsAnErrorAndLeavesNothing) {
  for (int i = 0; i < 4; ++i)
    put_png("a" + std::to_string(i) + ".png", 100, 100);
  fs::create_directories(folder_ / "out");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{50'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::io);
  EXPECT_THAT(written.error().message, HasSubstr("inputs.u8"));
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST_F(SharedInputsTest, WrittenAgainItReplacesWhatIsMapped) {
  put_png("a.png", 8, 8, 3, 1);
  const auto first = write();
  ASSERT_TRUE(first);
  const MappedInputs old = map(*first);
  const std::uint8_t sample = old.samples(0)[0];
  const Image next = put_png("a.png", 9, 9, 3, 2);
  const auto second = write();
  ASSERT_TRUE(second);
  EXPECT_NE(first->dataset_hash, second->dataset_hash);
  EXPECT_EQ(old.samples(0)[0], sample) << "a mapping keeps the file it was made from";
  EXPECT_EQ(testing::max_difference(map(*second).view(0), next.view<std::uint8_t>()), 0);
}

TEST_F(SharedInputsTest, ClipsComeFromTheCallback) {
  options.data_dir = data();
  options.folder = folder_ / "out";
  options.max_corrupt = 2;
  const auto written = write_shared_clips(
      options, {"a.mp4", "b.mp4", "c.mp4", "d.mp4"},
      [&](Clip& clip, const fs::path& file, unsigned worker) -> Status {
        EXPECT_LT(worker, usable_cores());
        if (file.filename() == "b.mp4") return Error{Errc::invalid_input, "no frames"};
        clip.frames = 4;
        clip.height = 3;
        clip.width = 5;
        clip.pixels.assign(4 * 3 * 5 * 3, static_cast<std::uint8_t>(file.filename().string()[0]));
        if (file.filename() == "c.mp4") clip.pixels.pop_back();
        return ok;
      });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, 2);
  EXPECT_EQ(written->skipped.size(), 2U);
  const MappedInputs inputs = map(*written);
  EXPECT_TRUE(inputs.clips());
  EXPECT_EQ(inputs.item(1).frames, 4);
  EXPECT_EQ(inputs.view(1, 3).at(4, 2, 2), 'd');
  EXPECT_EQ(inputs.bytes(), 2 * 180);
}

class HostileIndex : public SharedInputsTest {
 protected:
  /// The message with which this index is refused beside 256 bytes of data.
  std::string refusal(const std::string& items, const std::string& head = R"("version":1,
      "layout":"HWC","dtype":"uint8")") {
    const std::string text = "{" + head + ",\"items\":" + items + "}";
    EXPECT_TRUE(write_file_atomic(folder_ / "index", text));
    EXPECT_TRUE(write_file_atomic(folder_ / "data.u8", std::string(256, 'x')));
    const auto inputs = MappedInputs::open(folder_ / "index", folder_ / "data.u8");
    return inputs ? "" : inputs.error().message;
  }
};

TEST_F(HostileIndex, IsRefusedWithTheReason) {
  EXPECT_EQ(refusal(R"([{"offset":192,"shape":[8,8,1]}])"), "");
  EXPECT_THAT(refusal(R"([{"offset":192,"shape":[8,9,1]}])"), HasSubstr("outside the 256"));
  EXPECT_THAT(refusal(R"([{"offset":320,"shape":[1,1,1]}])"), HasSubstr("outside"));
  EXPECT_THAT(refusal(R"([{"offset":-64,"shape":[1,1,1]}])"), HasSubstr("offset"));
  EXPECT_THAT(refusal(R"([{"offset":1,"shape":[1,1,1]}])"), HasSubstr("multiple of 64"));
  EXPECT_THAT(refusal(R"([{"offset":0.0,"shape":[1,1,1]}])"), HasSubstr("offset"));
  EXPECT_THAT(refusal(R"([{"offset":18446744073709551552,"shape":[1,1,1]}])"), HasSubstr("offset"));
  EXPECT_THAT(refusal(R"([{"offset":4611686018427387904,"shape":[1,1,1]}])"), HasSubstr("outside"));
  EXPECT_THAT(refusal(R"([{"shape":[1,1,1]}])"), HasSubstr("offset"));
  EXPECT_THAT(refusal(R"([{"offset":0}])"), HasSubstr("shape"));
  for (const char* shape : {"[1,1]", "[1,1,1,1]", "[0,1,1]", "[-1,1,1]", "[1.5,1,1]", "[1,1,65]",
                            "\"1\"", "[1048577,1,1]", "null"})
    EXPECT_THAT(refusal(std::string(R"([{"offset":0,"shape":)") + shape + "}]"),
                HasSubstr("item 0: shape"))
        << shape;
  EXPECT_THAT(refusal(R"([{"offset":64,"shape":[8,8,1]},{"offset":0,"shape":[8,9,1]}])"),
              HasSubstr("overlap at byte 64"));
  EXPECT_THAT(refusal("[]"), HasSubstr("items"));
  EXPECT_THAT(refusal("5"), HasSubstr("items"));
  EXPECT_THAT(refusal("[5]"), HasSubstr("item 0"));
}

TEST_F(HostileIndex, HeadsAreChecked) {
  const std::string item = R"([{"offset":0,"shape":[1,1,1]}])";
  EXPECT_THAT(refusal(item, R"("version":2,"layout":"HWC","dtype":"uint8")"), HasSubstr("version"));
  EXPECT_THAT(refusal(item, R"("version":1,"layout":"CHW","dtype":"uint8")"), HasSubstr("layout"));
  EXPECT_THAT(refusal(item, R"("version":1,"layout":"HWC","dtype":"f4")"), HasSubstr("dtype"));
  EXPECT_THAT(refusal(item, R"("version":1,"layout":"THWC","dtype":"uint8")"),
              HasSubstr("4 sizes"));
  EXPECT_THAT(refusal(R"([{"offset":0,"shape":[1048576,1048576,1048576,64]}])",
                      R"("version":1,"layout":"THWC","dtype":"uint8")"),
              HasSubstr("too large"));
}

TEST_F(HostileIndex, MissingAndEmptyFilesAreNamed) {
  ASSERT_TRUE(write_file_atomic(folder_ / "index", "{}"));
  ASSERT_TRUE(write_file_atomic(folder_ / "empty", ""));
  EXPECT_THAT(MappedInputs::open(folder_ / "none", folder_ / "empty").error().message,
              HasSubstr("none"));
  EXPECT_THAT(MappedInputs::open(folder_ / "index", folder_ / "gone").error().message,
              HasSubstr("gone"));
  EXPECT_THAT(MappedInputs::open(folder_ / "index", folder_ / "empty").error().message,
              HasSubstr("empty"));
  EXPECT_THAT(MappedInputs::open(folder_ / "index", folder_.path()).error().message,
              HasSubstr("not a file"));
}

}  // namespace
}  // namespace sluice::image::shared_inputs_test
