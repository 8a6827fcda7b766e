// sluice/visit/loader/bundles.cpp - --enable-bundling: pack, then measure both ways.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/bundles.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/clock.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/open_store.h"
#include "sluice/visit/loader/rows.h"

namespace sluice::visit {

Result<Json> pack_input(const LoaderRequest& request, const std::filesystem::path& out,
                        Progress& progress, const std::function<bool()>& stop) {
  SLUICE_TRY(const auto store, storage::open_store(storage::store_options(request.input, request)));
  storage::BundleOptions options;
  options.out = out;
  options.bundle_bytes =
      static_cast<std::uint64_t>(request.bundle_size_gb * static_cast<double>(1ULL << 30U));
  options.wanted = [](const storage::Object& object) {
    return loader::is_image_key(object.key) || loader::is_array_key(object.key);
  };
  options.stop = stop;
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  SLUICE_TRY(const auto report, storage::write_bundles(*store, options, progress));
  Json json = report.json();
  json.erase("bundles");
  json["bundle_size_gb"] = request.bundle_size_gb;
  json["pack_seconds"] = static_cast<double>(clock.now_ns() - start_ns) * 1e-9;
  return json;
}

Json bundled_spec(const LoaderRequest& request, const std::filesystem::path& folder) {
  Json spec{{"input", std::filesystem::absolute(folder).string()},
            {"endpoint", ""},
            {"region", ""},
            {"anonymous", false},
            {"cache_dir", ""}};
  // Large files are what a map is for; another mode only when it was asked for.
  spec["read_mode"] =
      request.remote || request.read_mode == "buffered" ? "mmap" : request.read_mode;
  return spec;
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
