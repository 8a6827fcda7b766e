// tests/train/safetensors_test.cpp - the format byte by byte: what Python writes is read, what is
// wrong is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/safetensors.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::train::safetensors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint8_t> file_of(const std::string& header, const std::string& data,
                                  std::uint64_t length) {
  std::vector<std::uint8_t> bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(static_cast<std::uint8_t>(length >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}
std::vector<std::uint8_t> file_of(const std::string& header, const std::string& data) {
  return file_of(header, data, header.size());
}
std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string refusal(const std::string& header, const std::string& data) {
  const auto file = SafetensorsFile::parse(file_of(header, data), "f");
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, Errc::invalid_input);
  EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(file.error().message.substr(0, 2), "f:");
  return file.error().message;
}

/// 1.0 and -2.0 as F32, 1.5 and 3.0 as BF16.
const std::string kF32{"\x00\x00\x80\x3f\x00\x00\x00\xc0", 8};
const std::string kBf16{"\xc0\x3f\x40\x40", 4};

TEST(SafetensorsFile, reads_what_the_python_package_writes) {
  // safetensors.torch.save({"b": bf16, "w": f32}, {"format": "pt"}), padded with spaces.
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}}   )";
  const auto file = SafetensorsFile::parse(file_of(header, kF32 + kBf16), "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata().at("format"), "pt");
  ASSERT_EQ(file->entries().size(), 2U);
  const SafetensorsEntry* w = file->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_THAT(w->shape, ElementsAre(2, 1));
  EXPECT_THAT(*file->floats(*w), ElementsAre(1.0F, -2.0F));
  EXPECT_THAT(*file->floats(*file->find("b")), ElementsAre(1.5F, 3.0F));
  EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(SafetensorsFile, scalars_empty_tensors_and_no_tensor_at_all) {
  const auto one =
      SafetensorsFile::parse(file_of(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                     R"("e":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]}})",
                                     kF32.substr(0, 4)),
                             "f");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_THAT(*one->floats(*one->find("s")), ElementsAre(1.0F));
  EXPECT_TRUE(one->floats(*one->find("e"))->empty());
  EXPECT_EQ(refusal("{}", ""), "accepted");
}

TEST(SafetensorsFile, other_types_are_listed_but_not_converted) {
  const auto file = SafetensorsFile::parse(
      file_of(R"({"n":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", kF32), "f");
  ASSERT_TRUE(file);
  const auto floats = file->floats(*file->find("n"));
  ASSERT_FALSE(floats);
  EXPECT_EQ(floats.error().message, "f: tensor 'n' is I64; F32 and BF16 are accepted");
}

TEST(SafetensorsFile, refuses_headers_that_lie) {
  const auto tensor = [](const std::string& inside) { return R"({"t":{)" + inside + "}}"; };
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), kF32),
              HasSubstr("shape [3] as F32 does not take the 8 bytes"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), kF32),
              HasSubstr("outside the 8 bytes"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), kF32),
              HasSubstr("outside"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), kF32),
              HasSubstr("begins at byte 4; accepted is 0"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), kF32),
              HasSubstr("4 bytes after the last tensor"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), kF32),
              HasSubstr("dtype 'F31' is not known"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), kF32),
              HasSubstr("shape is no list"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), kF32),
              HasSubstr("shape is no list"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), kF32),
              HasSubstr("data_offsets are not two"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)"), kF32),
              HasSubstr("tensor 't': accepted is an object"));
  // 2^62 values, twice: the product wraps to 8 bytes in 64 bits.
  EXPECT_THAT(
      refusal(tensor(R"("dtype":"F32","shape":[2147483648,2147483648,2],"data_offsets":[0,8])"),
              kF32),
      HasSubstr("does not take"));
}

TEST(SafetensorsFile, refuses_overlaps_and_gaps) {
  const auto two = [](const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)") +
           R"("b":{"dtype":"BF16","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(refusal(two("[4,6]"), kF32.substr(0, 6)), "accepted");
  EXPECT_THAT(refusal(two("[2,4]"), kF32.substr(0, 4)), HasSubstr("tensor 'b' begins at byte 2"));
  EXPECT_THAT(refusal(two("[6,8]"), kF32), HasSubstr("tensor 'b' begins at byte 6"));
}

TEST(SafetensorsFile, refuses_names_that_stand_twice) {
  const std::string t = R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_THAT(refusal("{" + t + "," + t + "}", kF32), HasSubstr("'t' stands twice"));
  EXPECT_THAT(
      refusal(R"({"t":{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}})", kF32),
      HasSubstr("'dtype' stands twice"));
}

TEST(SafetensorsFile, refuses_other_metadata_than_strings) {
  EXPECT_THAT(refusal(R"({"__metadata__":{"step":3}})", ""), HasSubstr("'step' is no string"));
  EXPECT_THAT(refusal(R"({"__metadata__":[]})", ""), HasSubstr("__metadata__ is no object"));
}

TEST(SafetensorsFile, refuses_header_lengths_before_using_them) {
  const auto message = [](std::uint64_t length) {
    const auto file = SafetensorsFile::parse(file_of("{}", "", length), "f");
    return file ? std::string("accepted") : file.error().message;
  };
  EXPECT_THAT(message(3), HasSubstr("truncated"));
  EXPECT_THAT(message(0), HasSubstr("no JSON object"));
  EXPECT_THAT(message(100'000'001), HasSubstr("at most 100000000"));
  EXPECT_THAT(message(std::numeric_limits<std::uint64_t>::max()), HasSubstr("at most"));
  EXPECT_THAT(refusal(" {}", ""), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("[]", ""), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{\"a\xff\":1}", ""), HasSubstr("not valid JSON"));
}

std::string small_file() {
  SafetensorsWriter writer(
      {{"w", Dtype::f32, {2, 3}}, {"b", Dtype::bf16, {3}}, {"s", Dtype::f32, {}}},
      {{"format", "pt"}, {"step", "12"}});
  writer.append(std::vector<float>{1, -2, 0.5F, 1e-40F, 3e38F, -0.0F});
  writer.append(std::vector<float>{1.0F, 1.00390625F, -3.0F});  // the second: half way, to even
  writer.append(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  return writer.bytes();
}

TEST(SafetensorsWriter, round_trip_keeps_every_bit) {
  const auto file = SafetensorsFile::parse(bytes_of(small_file()), "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata().at("step"), "12");
  const auto w = *file->floats(*file->find("w"));
  EXPECT_THAT(w, ElementsAre(1, -2, 0.5F, 1e-40F, 3e38F, 0.0F));
  EXPECT_TRUE(std::signbit(w[5]));
  EXPECT_THAT(file->find("w")->shape, ElementsAre(2, 3));
  EXPECT_THAT(*file->floats(*file->find("b")), ElementsAre(1.0F, 1.0F, -3.0F));
  EXPECT_TRUE(std::isnan((*file->floats(*file->find("s")))[0]));
  EXPECT_EQ(file->find("w")->begin, 0U);
}

TEST(SafetensorsWriter, data_begin_at_a_multiple_of_8) {
  std::uint64_t length = 0;
  const std::string bytes = small_file();
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(bytes.size(), 8 + length + 6 * 4 + 3 * 2 + 4);
}

TEST(SafetensorsFile, truncation_at_every_byte_is_refused) {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto file = SafetensorsFile::parse(bytes_of(whole.substr(0, size)), "f");
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, Errc::invalid_input) << size;
  }
  EXPECT_FALSE(SafetensorsFile::parse(bytes_of(whole + "x"), "f"));
}

struct TemporaryFolder {
  FolderGuard guard;
  TemporaryFolder()
      : guard(std::filesystem::temp_directory_path() /
              ("sluice-safetensors-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(guard.path());
  }
};

TEST(SafetensorsWriter, writes_a_file_that_read_reads_and_names_in_errors) {
  const TemporaryFolder folder;
  const auto path = folder.guard.path() / "m.safetensors";
  SafetensorsWriter writer({{"w", Dtype::f32, {1}}}, {});
  writer.append(std::vector<float>{7});
  ASSERT_TRUE(writer.write(path));
  const auto file = SafetensorsFile::read(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(*file->floats(*file->find("w")), ElementsAre(7.0F));
  EXPECT_TRUE(file->metadata().empty());

  ASSERT_TRUE(write_file_atomic(path, "short"));
  const auto broken = SafetensorsFile::read(path);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("m.safetensors: 5 bytes are no safetensors"));
  const auto absent = SafetensorsFile::read(folder.guard.path() / "none");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
}

/// A limit on file size stands in for a full disk and for a process that dies while it writes.
TEST(SafetensorsWriter, a_write_that_fails_half_way_leaves_the_file_before_it) {
  const TemporaryFolder folder;
  const auto path = folder.guard.path() / "m.safetensors";
  SafetensorsWriter before({{"w", Dtype::f32, {1}}}, {});
  before.append(std::vector<float>{7});
  ASSERT_TRUE(before.write(path));
  SafetensorsWriter after({{"w", Dtype::f32, {100'000}}}, {});
  after.append(std::vector<float>(100'000, 1.0F));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    ::_exit(after.write(path) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const auto file = SafetensorsFile::read(path);
  ASSERT_TRUE(file);
  EXPECT_THAT(*file->floats(*file->find("w")), ElementsAre(7.0F));
}

}  // namespace
}  // namespace sluice::train::safetensors_test
