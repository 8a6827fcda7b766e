// tests/cli/loader_flags_test.cpp - both spellings of every input, and the combinations that make
// no sense.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/loader.h"

#include <gmock/gmock.h>

namespace sluice::cli::loader_flags_test {
namespace {

using ::testing::HasSubstr;

Result<visit::LoaderRequest> parse(const std::string& words) {
  CLI::App app;
  LoaderFlags flags;
  add_loader_flags(app, flags);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    return Error{Errc::usage, problem.what()};
  }
  return loader_request(flags, 3);
}

std::string complaint(const std::string& words) {
  const auto request = parse(words);
  EXPECT_FALSE(request) << words;
  if (request) return "";
  EXPECT_EQ(request.error().code, Errc::usage);
  EXPECT_EQ(request.error().message.find('\n'), std::string::npos);
  return request.error().message;
}

TEST(LoaderFlagsTest, DefaultsAreOneWorkerPerCore) {
  const auto request = parse("--input photos");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->input, "photos");
  EXPECT_FALSE(request->remote);
  EXPECT_EQ(request->workers, 3);
  EXPECT_FALSE(request->workers_given);
  EXPECT_EQ(request->batch_size, 256);
  EXPECT_EQ(request->prefetch, 2);
  EXPECT_EQ(request->gpu_index, -1);
  EXPECT_TRUE(request->persistent_workers);
  EXPECT_EQ(request->read_mode, "buffered");
}

TEST(LoaderFlagsTest, BothSpellingsMeanTheSame) {
  const auto ours =
      parse("--input s3://bucket/a/b --cache-dir C --enable-bundling --bundle-size-gb 0.5");
  const auto seed = parse(
      "--input-s3 --input-bucket-name bucket --input-prefix a/b --input-local-cache-dir C "
      "--input-enable-bundling --input-bundle-size-gb 0.5");
  ASSERT_TRUE(ours);
  ASSERT_TRUE(seed);
  EXPECT_EQ(ours->input, seed->input);
  EXPECT_EQ(ours->cache_dir, seed->cache_dir);
  EXPECT_TRUE(seed->remote && seed->bundling);
  EXPECT_EQ(seed->bundle_size_gb, 0.5);
  EXPECT_EQ(parse("--input-gcs --input-bucket-name b")->input, "gs://b");
  EXPECT_EQ(parse("--input-dir D")->input, "D");
}

TEST(LoaderFlagsTest, DevicesAreTakenApart) {
  EXPECT_EQ(parse("--input D --gpu cpu")->gpu_index, -1);
  EXPECT_EQ(parse("--input D --gpu cuda")->gpu_index, 0);
  EXPECT_EQ(parse("--input D --gpu cuda:3")->device, "cuda:3");
  for (const char* bad : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "gpu", "0"})
    EXPECT_THAT(complaint(std::string("--input D --gpu ") + bad), HasSubstr("accepted are cpu"));
}

TEST(LoaderFlagsTest, NonsenseIsOneClearLine) {
  EXPECT_THAT(complaint(""), HasSubstr("an input is missing"));
  EXPECT_THAT(complaint("--input D --input-dir E"), HasSubstr("--input and --input-dir"));
  EXPECT_THAT(complaint("--input-s3 --input-gcs"), HasSubstr("--input-s3 and --input-gcs"));
  EXPECT_THAT(complaint("--input-s3"), HasSubstr("--input-bucket-name"));
  EXPECT_THAT(complaint("--input-s3 --input-bucket-name a/b"), HasSubstr("--input-prefix"));
  EXPECT_THAT(complaint("--input D --input-bucket-name b"), HasSubstr("needs --input-s3"));
  EXPECT_THAT(complaint("--input D --input-prefix p"), HasSubstr("needs --input-s3"));
  EXPECT_THAT(complaint("--input D --cache-dir C"), HasSubstr("--cache-dir"));
  EXPECT_THAT(complaint("--input D --endpoint http://h"), HasSubstr("--endpoint"));
  EXPECT_THAT(complaint("--input D --region r"), HasSubstr("--region"));
  EXPECT_THAT(complaint("--input D --anonymous"), HasSubstr("--anonymous"));
  EXPECT_THAT(complaint("--input s3://b --read-mode mmap"), HasSubstr("--read-mode"));
  EXPECT_THAT(complaint("--input D --bundle-size-gb 1"), HasSubstr("--enable-bundling"));
  EXPECT_THAT(complaint("--input ftp://host/x"), HasSubstr("s3://bucket/prefix"));
  EXPECT_THAT(complaint("--input-dir s3://b"), HasSubstr("local folder"));
}

TEST(LoaderFlagsTest, RangesAreThoseOfTheTable) {
  for (const char* bad :
       {"--num-workers 65", "--num-workers -1", "--batch-size 0", "--prefetch 0",
        "--sample-ratio 0", "--sample-ratio 1.5", "--num-batches 0", "--read-mode fast"})
    EXPECT_FALSE(parse(std::string("--input D ") + bad)) << bad;
  EXPECT_EQ(parse("--input D --num-workers 0")->workers, 0);
  EXPECT_EQ(parse("--input s3://b/p")->workers, 6) << "two per core wait for a bucket";
  EXPECT_TRUE(parse("--input D --num-workers 0")->workers_given);
  EXPECT_FALSE(parse("--input D --no-persistent-workers")->persistent_workers);
}

TEST(LoaderFlagsTest, TheTextGivesTheSameLoaderAgain) {
  const auto request = parse("--input D --num-workers 4 --prefetch 3 --pin-memory");
  ASSERT_TRUE(request);
  EXPECT_EQ(visit::loader_flags_text(*request),
            "--batch-size 256 --num-workers 4 --prefetch 3 --pin-memory");
}

TEST(LoaderFlagsTest, BatchesForAGpuArePinnedBytesUnlessSaidOtherwise) {
  EXPECT_FALSE(parse("--input D")->pin_memory);
  const auto gpu = parse("--input D --gpu cuda:0 --num-workers 4");
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->pin_memory);
  EXPECT_EQ(gpu->upload, train::PixelType::u8);
  EXPECT_EQ(visit::loader_flags_text(*gpu), "--batch-size 256 --num-workers 4 --prefetch 2");
  const auto slow = parse("--input D --gpu cuda:0 --num-workers 4 --no-pin-memory --upload fp32");
  ASSERT_TRUE(slow);
  EXPECT_FALSE(slow->pin_memory);
  EXPECT_EQ(visit::loader_flags_text(*slow),
            "--batch-size 256 --num-workers 4 --prefetch 2 --no-pin-memory --upload fp32");
  EXPECT_FALSE(parse("--input D --upload int4"));
}

}  // namespace
}  // namespace sluice::cli::loader_flags_test
