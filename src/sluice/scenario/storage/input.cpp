// sluice/scenario/storage/input.cpp - opens, lists and plans what the storage rows read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/storage/input.h"

#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace sluice::scenario {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kAlignment = 4096;

Result<std::vector<ReadOperation>> sequential(const std::vector<storage::Object>& objects,
                                              const ReadPlan& plan) {
  std::uint64_t total = 0;
  for (const storage::Object& object : objects)
    total += object.size;
  if (plan.max_bytes != 0) total = std::min(total, plan.max_bytes);
  total = total / kSequentialRead * kSequentialRead;
  if (total == 0) {
    return Error{Errc::invalid_input,
                 "there is less than 1 MB to read: sequential reading needs more"};
  }
  std::vector<ReadOperation> reads;
  for (std::size_t i = 0; i < objects.size() && total > 0; ++i) {
    for (std::uint64_t at = 0; at < objects[i].size && total > 0;) {
      const std::uint64_t size = std::min({kSequentialRead, objects[i].size - at, total});
      reads.push_back({i, at, size});
      at += size;
      total -= size;
    }
  }
  return reads;
}

Result<std::vector<ReadOperation>> random(const std::vector<storage::Object>& objects,
                                          const ReadPlan& plan) {
  const std::uint64_t stride = (plan.size + kAlignment - 1) / kAlignment * kAlignment;
  std::vector<std::uint64_t> starts{0};  // places before each object
  for (const storage::Object& object : objects)
    starts.push_back(starts.back() +
                     (object.size < plan.size ? 0 : (object.size - plan.size) / stride + 1));
  const std::uint64_t places = starts.back();
  if (places == 0) {
    return Error{Errc::invalid_input,
                 fmt::format("no object holds {} bytes to read at random", plan.size)};
  }
  // One place of each of as many equal parts, in random order: none is read twice.
  const std::uint64_t count = std::min(plan.operations, places);
  Rng rng(RngKey{.seed = plan.seed, .index = plan.size});
  std::vector<ReadOperation> reads;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t low = places / count * i + std::min(i, places % count);
    const std::uint64_t width = places / count + (i < places % count ? 1 : 0);
    const std::uint64_t place = low + rng.below(width);
    const auto after = std::upper_bound(starts.begin(), starts.end(), place);
    const auto object = static_cast<std::size_t>(after - starts.begin()) - 1;
    reads.push_back({object, (place - starts[object]) * stride, plan.size});
  }
  rng.shuffle(std::span(reads));
  return reads;
}

Result<std::vector<ReadOperation>> get(const std::vector<storage::Object>& objects,
                                       const ReadPlan& plan) {
  std::vector<ReadOperation> reads;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].size >= plan.smallest && objects[i].size <= plan.largest)
      reads.push_back({i, 0, objects[i].size});
  }
  if (reads.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("no object has {} to {} bytes", plan.smallest, plan.largest)};
  }
  Rng rng(RngKey{.seed = plan.seed, .index = plan.largest});
  rng.shuffle(std::span(reads));
  reads.resize(std::min<std::uint64_t>(reads.size(), plan.operations));
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < reads.size() &&
         (count == 0 || plan.max_bytes == 0 || bytes + reads[count].size <= plan.max_bytes))
    bytes += reads[count++].size;
  reads.resize(count);
  return reads;
}

}  // namespace

Json to_json(const StorageInput& input) {
  return Json{{"input", input.input},         {"endpoint", input.endpoint},
              {"region", input.region},       {"anonymous", input.anonymous},
              {"read_mode", input.read_mode}, {"concurrency", input.concurrency}};
}

Result<StorageInput> storage_input_from(const Json& spec) {
  StorageInput input;
  if (!spec.is_object()) return Error{Errc::usage, "a storage row needs a spec with its input"};
  input.input = spec.value("input", std::string());
  input.endpoint = spec.value("endpoint", std::string());
  input.region = spec.value("region", std::string());
  input.anonymous = spec.value("anonymous", false);
  input.read_mode = spec.value("read_mode", std::string("buffered"));
  input.concurrency = spec.value("concurrency", 1);
  if (input.input.empty())
    return Error{Errc::usage, "spec: input is empty; a folder or URI is expected"};
  if (input.concurrency < 1 || input.concurrency > 1024) {
    return Error{Errc::usage,
                 fmt::format("spec: concurrency {}; 1 to 1024 are accepted", input.concurrency)};
  }
  return input;
}

Result<std::shared_ptr<storage::ObjectStore>> open_storage(const StorageInput& input) {
  storage::StoreOptions options;
  options.input = input.input;
  options.endpoint = input.endpoint;
  options.region = input.region;
  options.anonymous = input.anonymous;
  SLUICE_TRY(options.read_mode, storage::parse_read_mode(input.read_mode));
  return storage::open_store(options);
}

Result<std::vector<storage::Object>> list_storage(storage::ObjectStore& store) {
  std::vector<storage::Object> objects;
  const Error enough{Errc::interrupted, "enough"};
  const Status listed = store.list("", [&](std::span<const storage::Object> page) -> Status {
    for (const storage::Object& object : page) {
      if (object.size > 0) objects.push_back(object);
      if (objects.size() == kMaxObjects) return Error(enough);
    }
    return ok;
  });
  if (!listed && objects.size() < kMaxObjects) return listed.error();
  if (objects.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: holds no object with any bytes", printable(store.name()))};
  }
  return objects;
}

std::vector<fs::path> files_of(const StorageInput& input,
                               const std::vector<storage::Object>& objects) {
  std::vector<fs::path> files;
  if (input.remote()) return files;
  std::error_code ignored;
  const bool folder = fs::is_directory(input.input, ignored);
  for (const storage::Object& object : objects)
    files.push_back(folder ? fs::path(input.input) / object.key : fs::path(input.input));
  return files;
}

Result<std::vector<ReadOperation>> plan_reads(const std::vector<storage::Object>& objects,
                                              const ReadPlan& plan) {
  switch (plan.pattern) {
    case ReadPattern::sequential:
      return sequential(objects, plan);
    case ReadPattern::random:
      return random(objects, plan);
    case ReadPattern::get:
      break;
  }
  return get(objects, plan);
}

}  // namespace sluice::scenario
