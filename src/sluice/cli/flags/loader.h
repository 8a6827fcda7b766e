// sluice/cli/flags/loader.h - where samples come from and how they are loaded: the flags that every
// command with a loader shares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/train/model/model_spec.h"
#include "sluice/visit/loader/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed.
struct LoaderFlags {
  std::string input;       // folder, s3://bucket/prefix or gs://bucket/prefix
  std::string input_dir;   // the same in the words of others:
  bool input_s3 = false;   // with bucket and prefix
  bool input_gcs = false;  // with bucket and prefix
  std::string bucket, prefix;
  std::string endpoint, region;
  bool anonymous = false;
  std::string cache_dir;
  bool bundling = false;
  std::optional<double> bundle_size_gb;
  std::optional<std::string> read_mode;

  std::string gpu;
  int batch_size = 256;
  const CLI::Option* batch_option = nullptr;  // says whether it was given
  std::optional<int> num_workers;
  int prefetch = 2;
  std::string recipe = "rrc224";
  std::string decode = "exact";
  double random_erasing = 0;
  std::string lanes = "cpu";
  std::optional<std::string> upload;
  std::optional<bool> pin_memory;
  bool persistent_workers = true;
  double sample_ratio = 1;
  std::optional<int> num_batches;
};

/// --endpoint, --region, --anonymous: of an input that is a bucket.
void add_bucket_flags(CLI::App& command, std::string& endpoint, std::string& region,
                      bool& anonymous);

/// `flags` holds the defaults and must outlive the parse. `tokens`: the command has set_model().
/// `inputs`: --input may be repeated, and goes there instead.
void add_loader_flags(CLI::App& command, LoaderFlags& flags, bool tokens = false,
                      std::vector<std::string>* inputs = nullptr);
/// The same flags for another input: what is for buckets alone is left out for a folder, and
/// --read-mode for a bucket.
LoaderFlags flags_for_input(const LoaderFlags& flags, const std::string& input);

/// Contradictory or incomplete flags are one usage error that says which and what would do.
/// `cores` is the default number of workers.
Result<visit::LoaderRequest> loader_request(const LoaderFlags& flags, unsigned cores);

/// The request reads what `model` takes: tokens for a GPT. Flags that are for images alone are then
/// usage errors.
Status set_model(visit::LoaderRequest& request, const LoaderFlags& flags,
                 const train::ModelSpec& model);
/// A batch size that nobody asked for becomes that of a local data set that is smaller.
void fit_batch(visit::LoaderRequest& request, const LoaderFlags& flags);

/// Whether any flag speaks of an input: then loader_request() has the last word.
bool names_input(const LoaderFlags& flags);
/// The device of --gpu: -1 is the CPU ("", "cpu"), else its index ("cuda", "cuda:1").
Result<int> parse_gpu(const std::string& text);

/// Names of --libraries, checked: known, measured in `mode` ("loader", "training"), no two alike,
/// ours among them unless it may be left out.
Result<std::vector<std::string>> parse_libraries(const std::string& text, const std::string& mode,
                                                 bool ours_needed = true);

/// PyTorch's DataLoader as --library knows it: "torch" reads as ImageFolder does unless told
/// otherwise.
extern const std::vector<std::string> kLoaderNames;
std::string loader_library(const std::string& name);
/// What another library's worker does not take is refused, not passed over: `library` as it was
/// typed.
Status check_other_loader(const LoaderFlags& flags, const visit::LoaderRequest& request,
                          const std::string& library);

/// "workers=0,1,2" and "prefetch=1,2" into `sweep`.
Status parse_sweep(visit::Sweep& sweep, const std::string& text);

}  // namespace sluice::cli
