// tests/storage/s3_client.h - a client and a server that fit together, for tests of S3.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/remote/s3_store.h"

#include <gtest/gtest.h>

#include "tests/storage/fault_server.h"
#include <memory>
#include <string>
#include <vector>

namespace sluice::storage {

using testing::Fault;
using testing::FaultServer;
using testing::FaultServerOptions;

inline constexpr const char* kKeyId = "AKIDTEST";
inline constexpr const char* kSecret = "not-a-secret-of-anybody";

class FixedCredentials final : public CredentialSource {
 public:
  explicit FixedCredentials(std::vector<Credentials> all) : all_(std::move(all)) {}
  Result<Credentials> get() override { return all_[at_]; }
  bool refused(const Credentials&) override {
    if (at_ + 1 == all_.size()) return false;
    ++at_;
    return true;
  }

 private:
  std::vector<Credentials> all_;
  std::size_t at_ = 0;
};

inline std::shared_ptr<CredentialSource> keys(std::string id = kKeyId,
                                              std::string secret = kSecret) {
  return std::make_shared<FixedCredentials>(
      std::vector<Credentials>{{std::move(id), std::move(secret)}});
}

inline FaultServerOptions server_options() {
  FaultServerOptions options;
  options.signature.keys[kKeyId] = {.secret = kSecret};
  options.generated = {.prefix = "data/", .suffix = ".bin", .count = 2500, .size = 300'000};
  return options;
}

inline S3Options client_options(const FaultServer& server) {
  S3Options options;
  options.bucket = "bucket";
  options.prefix = "data";
  options.endpoint = server.url();
  options.credentials = keys();
  options.remote.retry.base_s = 0.001;
  options.remote.retry.throttle_base_s = 0.001;
  options.remote.http.limits = {.connect_s = 5, .first_byte_s = 5, .stall_s = 5};
  return options;
}

inline std::unique_ptr<ObjectStore> open(const S3Options& options) {
  auto store = open_s3(options);
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

inline std::vector<std::byte> expected(const std::string& key, std::uint64_t offset,
                                       std::size_t size, std::uint64_t version = 0) {
  std::vector<std::byte> bytes(size);
  testing::generated_content(bytes, key, version, offset);
  return bytes;
}

}  // namespace sluice::storage
