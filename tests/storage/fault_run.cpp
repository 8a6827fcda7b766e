// tests/storage/fault_run.cpp - threads that read whole objects in ranges and hash them.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/fault_run.h"

#include "sluice/core/sha256.h"
#include "sluice/storage/credentials/chain.h"
#include "sluice/storage/remote/gcs_store.h"
#include "sluice/storage/remote/s3_store.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <regex>
#include <thread>

namespace sluice::storage::testing {
namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// SHA-256 of every object as it should be.
std::vector<std::string> expected_digests(const GeneratedObjects& objects) {
  std::vector<std::string> digests;
  std::vector<std::byte> bytes(objects.size);
  for (std::uint64_t i = 0; i < objects.count; ++i) {
    generated_content(bytes, objects.key(i), 0, 0);
    digests.push_back(sha256_hex(std::span<const std::byte>(bytes)));
  }
  return digests;
}

class Readers {
 public:
  Readers(ObjectStore& store, const FaultRunOptions& options, const GeneratedObjects& objects)
      : store_(store), options_(options), objects_(objects), expected_(expected_digests(objects)) {}

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i)
      threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads)
      thread.join();
  }
  FaultRun result;

 private:
  void work() {
    ReadBuffer buffer;
    for (std::uint64_t index = next_++; index < objects_.count; index = next_++)
      read_object(index, buffer);
  }
  void read_object(std::uint64_t index, ReadBuffer& buffer) {
    const std::string key = objects_.key(index);
    const std::string etag = etag_of(key, 0);
    const Object object{key, objects_.size,
                        options_.protocol == Protocol::google
                            ? generation_of(0)
                            : etag.substr(1, etag.size() - 2)};  // as the stores write versions
    Sha256 hash;
    std::vector<std::string> errors;
    for (std::uint64_t i = 0; i < options_.reads_per_object; ++i) {
      const auto bytes = store_.read(object, i * options_.read_bytes, options_.read_bytes, buffer);
      if (bytes) {
        hash.update(*bytes);
      } else {
        errors.push_back(bytes.error().message);
      }
    }
    const bool right = errors.empty() && hash.hex() == expected_[index];
    const std::scoped_lock lock(mutex_);
    result.reads += options_.reads_per_object;
    result.failed += errors.size();
    if (errors.empty()) ++(right ? result.objects_right : result.objects_wrong);
    result.errors.insert(result.errors.end(), errors.begin(), errors.end());
  }

  ObjectStore& store_;
  const FaultRunOptions& options_;
  const GeneratedObjects& objects_;
  const std::vector<std::string> expected_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
};

Result<std::unique_ptr<ObjectStore>> open_store(const FaultRunOptions& options,
                                                const std::string& bucket, const std::string& url) {
  RemoteOptions remote;
  remote.seed = options.seed;
  if (options.attempts > 0) remote.retry.max_attempts = options.attempts;
  if (!options.waits) remote.retry.base_s = remote.retry.throttle_base_s = 0.001;
  if (options.protocol == Protocol::google) {
    GcsOptions client{.bucket = bucket, .endpoint = url, .remote = remote};
    client.token.environment = [](const std::string&) { return std::optional<std::string>(); };
    client.token.metadata_endpoint = url;
    return open_gcs(client);
  }
  CredentialOptions keys;
  keys.keys = Credentials{"AKIDFAULTS", "nobody's", {}, {}};
  S3Options client;
  client.bucket = bucket;
  client.endpoint = url;
  client.credentials = open_credentials(keys);
  client.remote = remote;
  return open_s3(client);
}

}  // namespace

Result<FaultRun> run_faults(const FaultRunOptions& options) {
  FaultServerOptions serving;
  serving.protocol = options.protocol;
  serving.signature.keys["AKIDFAULTS"].secret = "nobody's";
  serving.generated = {.prefix = "set/",
                       .suffix = ".bin",
                       .count = options.objects,
                       .size = options.reads_per_object * options.read_bytes};
  serving.faults = FaultPlan::uniform(options.fault_rate, options.seed, options.protocol);
  if (!options.waits) serving.faults.slow_s = 0.01;
  FaultServer server(serving);

  SLUICE_TRY(const auto store, open_store(options, serving.bucket, server.url()));

  Readers readers(*store, options, serving.generated);
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  readers.run();
  FaultRun result = std::move(readers.result);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.cpu_s = cpu_seconds() - cpu;
  result.server = server.counters();
  result.client = store->counters();
  for (std::size_t i = 0; i < kFaults; ++i)
    if (can_be(static_cast<Fault>(i), options.protocol))
      result.faults.push_back(server.delivered(static_cast<Fault>(i)));
  return result;
}

bool names_object_cause_and_attempts(const std::string& message, int attempts) {
  static const std::regex kForm(R"((?:s3|gs)://bucket/set/\d{8}\.bin: (\S.*), (\d+) attempts?)");
  std::smatch match;
  return std::regex_match(message, match, kForm) && match[2] == std::to_string(attempts);
}

}  // namespace sluice::storage::testing
