// sluice/visit/loader/bundles.cpp - --enable-bundling: pack, then measure both ways.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/bundles.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/visit/loader/rows.h"

namespace sluice::visit {

/// Large files are what a map is for; another mode only when it was asked for.
static std::string bundle_read_mode(const LoaderRequest& request) {
  return request.remote || request.read_mode == "buffered" ? "mmap" : request.read_mode;
}

Json bundled_spec(const LoaderRequest& request, const std::filesystem::path& folder) {
  Json spec{{"input", std::filesystem::absolute(folder).string()},
            {"endpoint", ""},
            {"region", ""},
            {"anonymous", false},
            {"cache_dir", ""}};
  spec["read_mode"] = bundle_read_mode(request);
  return spec;
}

LoaderRequest bundled_request(const LoaderRequest& request, const std::filesystem::path& folder) {
  LoaderRequest packed = request;
  packed.input = std::filesystem::absolute(folder).string();
  packed.remote = packed.anonymous = packed.bundling = false;
  packed.endpoint = packed.region = packed.cache_dir = "";
  packed.read_mode = bundle_read_mode(request);
  return packed;
}

results::BundlingGain bundling_gain(const results::ResultFile& file, const std::string& base_case) {
  results::BundlingGain gain;
  const measure::Row* plain = find_row(file, base_case);
  const measure::Row* packed = find_row(file, base_case + "/bundling=on");
  const measure::Row* plain_first = find_row(file, base_case + "/epoch=first");
  const measure::Row* packed_first = find_row(file, base_case + "/bundling=on/epoch=first");
  if (mean_of(plain_first) > 0 && packed_first != nullptr)
    gain.first_epoch = mean_of(packed_first) / mean_of(plain_first);
  if (mean_of(plain) > 0 && packed != nullptr) {
    gain.later = analysis::row_ratio(*packed, *plain, true).value_or(analysis::exactly(0));
    gain.later->point = mean_of(packed) / mean_of(plain);
  }
  return gain;
}

}  // namespace sluice::visit
