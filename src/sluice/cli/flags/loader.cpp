// sluice/cli/flags/loader.cpp - one table of input and loader flags, and what they come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/loader.h"

#include "sluice/core/text.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/peers/library.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/loader/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace sluice::cli {
namespace {

constexpr int kMaxWorkers = 64;
constexpr int kMaxPrefetch = 64;
constexpr int kMaxBatches = 1'000'000;

bool is_uri(const std::string& input) {
  return input.starts_with("s3://") || input.starts_with("gs://");
}

/// The one input that was named, in whichever words.
Result<std::string> input_of(const LoaderFlags& flags) {
  std::vector<std::string> given;
  if (!flags.input.empty()) given.push_back("--input");
  if (!flags.input_dir.empty()) given.push_back("--input-dir");
  if (flags.input_s3) given.push_back("--input-s3");
  if (flags.input_gcs) given.push_back("--input-gcs");
  if (given.empty())
    return usage_error(
        "an input is missing: give --input DIR, s3://bucket/prefix or gs://bucket/prefix");
  if (given.size() > 1)
    return usage_error(fmt::format("{}: give only one of them", join(given, " and ")));
  const bool bucketed = flags.input_s3 || flags.input_gcs;
  if (!bucketed && !flags.bucket.empty())
    return usage_error(fmt::format("--input-bucket-name {}: needs --input-s3 or --input-gcs",
                                   printable(flags.bucket)));
  if (!bucketed && !flags.prefix.empty())
    return usage_error(
        fmt::format("--input-prefix {}: needs --input-s3 or --input-gcs", printable(flags.prefix)));
  if (!bucketed) return flags.input.empty() ? flags.input_dir : flags.input;
  if (flags.bucket.empty())
    return usage_error(given.front() + ": needs --input-bucket-name BUCKET");
  if (flags.bucket.find('/') != std::string::npos)
    return usage_error(fmt::format(
        "--input-bucket-name {}: a bucket has no '/'; what follows it goes to --input-prefix",
        printable(flags.bucket)));
  return fmt::format("{}://{}{}{}", flags.input_s3 ? "s3" : "gs", flags.bucket,
                     flags.prefix.empty() ? "" : "/", flags.prefix);
}

Status check_place(const LoaderFlags& flags, const std::string& input) {
  const std::size_t scheme = input.find("://");
  if (scheme != std::string::npos && !is_uri(input))
    return usage_error(
        fmt::format("--input {}: accepted are a folder, s3://bucket/prefix and "
                    "gs://bucket/prefix",
                    printable(input)));
  if (!flags.input_dir.empty() && is_uri(input))
    return usage_error(fmt::format("--input-dir {}: is a local folder; give --input for buckets",
                                   printable(input)));
  const std::pair<const char*, bool> remote_only[] = {{"--endpoint", !flags.endpoint.empty()},
                                                      {"--region", !flags.region.empty()},
                                                      {"--anonymous", flags.anonymous},
                                                      {"--cache-dir", !flags.cache_dir.empty()}};
  for (const auto& [name, given] : remote_only) {
    if (given && !is_uri(input))
      return usage_error(fmt::format(
          "{}: the input {} is a local folder; it is for s3:// and gs://", name, printable(input)));
  }
  if (is_uri(input) && flags.read_mode)
    return usage_error(fmt::format("--read-mode {}: is for local folders; {} is not one",
                                   *flags.read_mode, printable(input)));
  if (flags.bundle_size_gb && !flags.bundling)
    return usage_error("--bundle-size-gb: needs --enable-bundling");
  return ok;
}

/// Workers of a bucket wait for it: two per core, up to 16, past which more seldom pay.
int default_workers(unsigned cores, bool remote) {
  constexpr unsigned kMostForBuckets = 16;
  const unsigned wanted = remote ? std::max(cores, std::min(2 * cores, kMostForBuckets)) : cores;
  return static_cast<int>(std::min(wanted, unsigned{kMaxWorkers}));
}

std::vector<std::string> library_names(const std::string& mode) {
  std::vector<std::string> names;
  for (const peers::Library& library : peers::libraries())
    if (library.way(mode) != nullptr) names.emplace_back(library.name);
  return names;
}

}  // namespace

bool names_input(const LoaderFlags& flags) {
  return !flags.input.empty() || !flags.input_dir.empty() || flags.input_s3 || flags.input_gcs ||
         !flags.bucket.empty() || !flags.prefix.empty() || !flags.endpoint.empty() ||
         !flags.region.empty() || flags.anonymous || !flags.cache_dir.empty() || flags.bundling ||
         flags.bundle_size_gb || flags.read_mode;
}

Result<int> parse_gpu(const std::string& text) {
  if (text.empty() || text == "cpu") return -1;
  if (text == "cuda") return 0;
  int index = -1;
  if (text.starts_with("cuda:")) {
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data() + 5, end, index);
    if (problem == std::errc{} && stop == end && index >= 0 && index < 1024) return index;
  }
  return usage_error(fmt::format("--gpu {}: accepted are cpu, cuda and cuda:N", printable(text)));
}

void add_bucket_flags(CLI::App& command, std::string& endpoint, std::string& region,
                      bool& anonymous) {
  add_value(command, "--endpoint", endpoint, "URL", "server of the bucket; default: the vendor's");
  command.add_option("--region", region, "region of the bucket");
  command.add_flag("--anonymous", anonymous, "send requests unsigned, without credentials");
}

LoaderFlags flags_for_input(const LoaderFlags& flags, const std::string& input) {
  LoaderFlags one = flags;
  one.input = input;
  one.input_dir.clear();
  one.input_s3 = one.input_gcs = false;
  one.bucket.clear();
  one.prefix.clear();
  if (is_uri(input)) {
    one.read_mode.reset();
    return one;
  }
  one.endpoint.clear();
  one.region.clear();
  one.anonymous = false;
  one.cache_dir.clear();
  return one;
}

void add_loader_flags(CLI::App& command, LoaderFlags& flags, bool tokens,
                      std::vector<std::string>* inputs) {
  begin_group(command, "Input");
  const std::string text = fmt::format(
      "folder of images, tar shards, arrays or bundles{}; or s3://bucket/prefix, "
      "gs://bucket/prefix{}",
      tokens ? ", or of tokens for a GPT" : "", inputs != nullptr ? "; repeated: a row each" : "");
  if (inputs != nullptr)
    add_value(command, "--input", *inputs, "DIR|URI", text)->allow_extra_args(false);
  else
    add_value(command, "--input", flags.input, "DIR|URI", text);
  add_value(command, "--input-dir", flags.input_dir, "DIR", "local folder, instead of --input");
  command.add_flag("--input-s3", flags.input_s3, "the input is an S3 bucket");
  command.add_flag("--input-gcs", flags.input_gcs, "the input is a Google Cloud Storage bucket");
  add_value(command, "--input-bucket-name", flags.bucket, "BUCKET",
            "with --input-s3 or --input-gcs");
  add_value(command, "--input-prefix", flags.prefix, "PREFIX", "with --input-s3 or --input-gcs");
  add_bucket_flags(command, flags.endpoint, flags.region, flags.anonymous);
  add_value(command, "--cache-dir,--input-local-cache-dir", flags.cache_dir, "DIR",
            "folder that keeps what was downloaded");
  command.add_flag("--enable-bundling,--input-enable-bundling", flags.bundling,
                   "also pack the samples into bundles, and measure both ways");
  command
      .add_option("--bundle-size-gb,--input-bundle-size-gb", flags.bundle_size_gb,
                  "size of a bundle in GiB (default 1)")
      ->check(CLI::Range(0.000001, 1024.0));
  command.add_option("--read-mode", flags.read_mode, "how local files are read (default buffered)")
      ->check(CLI::IsMember({"buffered", "mmap", "direct"}));
  begin_group(command, "Loader");
  add_value(command, "--gpu", flags.gpu, "DEVICE",
            "device to train on, or to watch while loading: cpu or cuda:N");
  flags.batch_option = add_number(command, "--batch-size", flags.batch_size, 1,
                                  static_cast<int>(scenario::kMaxBatch), "samples per batch");
  command
      .add_option(
          "--num-workers", flags.num_workers,
          "threads that load samples; 0: the consumer loads them itself; default: one per core, "
          "for a bucket two")
      ->check(CLI::Range(0, kMaxWorkers));
  add_number(command, "--prefetch", flags.prefetch, 1, kMaxPrefetch,
             "batches to load ahead; other libraries count them per worker");
  command
      .add_option("--recipe", flags.recipe,
                  "what is done to a training image: crop and flip (rrc224), or also 3-Augment and "
                  "colour jitter (default rrc224)")
      ->check(CLI::IsMember({"rrc224", "three-augment"}));
  add_value(command, "--random-erasing", flags.random_erasing, "P",
            "probability that a rectangle of a training image becomes the mean colour; 0: off")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--decode", flags.decode,
                  "how JPEGs are decoded: every pixel of the crop, or at the smallest scale that "
                  "fills it, which is faster and not the same to the bit (default exact)")
      ->check(CLI::IsMember({"exact", "scaled"}));
  command
      .add_option("--loader", flags.lanes,
                  "who decodes for a GPU: the CPU, the GPU's JPEG engines, or both (default cpu)")
      ->check(CLI::IsMember({"cpu", "gpu", "hybrid"}));
  command
      .add_option(
          "--upload", flags.upload,
          "how pixels travel to a GPU, or to an emulated accelerator; uint8 is normalised there "
          "(default uint8, emulated fp32)")
      ->check(CLI::IsMember({"uint8", "fp16", "fp32"}));
  command.add_flag_function(
      "--pin-memory,!--no-pin-memory",
      [&flags](std::int64_t given) { flags.pin_memory = given > 0; },
      "load into pinned memory, which a GPU copies faster (the default with a GPU)");
  command.add_flag("--persistent-workers,!--no-persistent-workers", flags.persistent_workers,
                   "keep workers alive from epoch to epoch (the default)");
  add_number(command, "--sample-ratio", flags.sample_ratio, 0.01, 1.0,
             "share of the samples to use");
  command
      .add_option("--num-batches", flags.num_batches,
                  "batches per timed sample; default: about a second's worth")
      ->check(CLI::Range(1, kMaxBatches));
}

Result<visit::LoaderRequest> loader_request(const LoaderFlags& flags, unsigned cores) {
  visit::LoaderRequest request;
  SLUICE_TRY(request.input, input_of(flags));
  SLUICE_CHECK(check_place(flags, request.input));
  request.remote = is_uri(request.input);
  request.endpoint = flags.endpoint;
  request.region = flags.region;
  request.anonymous = flags.anonymous;
  request.cache_dir = flags.cache_dir;
  request.bundling = flags.bundling;
  request.bundle_size_gb = flags.bundle_size_gb.value_or(1.0);
  request.read_mode = flags.read_mode.value_or("buffered");
  SLUICE_TRY(request.gpu_index, parse_gpu(flags.gpu));
  if (request.gpu_index >= 0) request.device = fmt::format("cuda:{}", request.gpu_index);
  request.batch_size = flags.batch_size;
  request.workers_given = flags.num_workers.has_value();
  request.workers = flags.num_workers.value_or(default_workers(cores, request.remote));
  request.prefetch = flags.prefetch;
  request.three_augment = flags.recipe == "three-augment";
  request.random_erasing = flags.random_erasing;
  request.decode_scaled = flags.decode == "scaled";
  if (request.decode_scaled && (request.three_augment || flags.lanes != "cpu"))
    return usage_error("--decode scaled: is for --recipe rrc224 with --loader cpu");
  SLUICE_TRY(request.upload, scenario::parse_upload(flags.upload.value_or("uint8")));
  SLUICE_TRY(request.lanes, loader::gpu::lane_policy(flags.lanes));
  const bool on_gpu = request.lanes != loader::gpu::LanePolicy::cpu;
  if (on_gpu && request.gpu_index < 0)
    return usage_error(fmt::format(
        "--loader {}: needs a GPU (--gpu cuda:0); without one cpu is accepted", flags.lanes));
  if (on_gpu && request.upload != train::PixelType::u8)
    return usage_error(fmt::format("--upload {}: with --loader {} only uint8 is accepted",
                                   *flags.upload, flags.lanes));
  // The thread that drives the engines wants a core of its own.
  if (on_gpu && !request.workers_given) request.workers = std::max(request.workers - 1, 1);
  request.pin_memory = flags.pin_memory.value_or(request.gpu_index >= 0);
  request.persistent_workers = flags.persistent_workers;
  request.sample_ratio = flags.sample_ratio;
  request.num_batches = flags.num_batches.value_or(0);
  return request;
}

Status set_model(visit::LoaderRequest& request, const LoaderFlags& flags,
                 const train::ModelSpec& model) {
  if (model.family != train::Family::gpt) return ok;
  const std::pair<std::string, bool> for_images[] = {
      {"--input " + printable(request.input), request.remote},
      {"--recipe " + flags.recipe, request.three_augment},
      {"--decode " + flags.decode, request.decode_scaled},
      {fmt::format("--random-erasing {:g}", request.random_erasing), request.random_erasing > 0},
      {"--loader " + flags.lanes, request.lanes != loader::gpu::LanePolicy::cpu},
      {"--enable-bundling", request.bundling}};
  for (const auto& [flag, given] : for_images)
    if (given)
      return usage_error(fmt::format(
          "{}: is for images; {} takes tokens, from a folder of this machine", flag, model.name));
  request.sequence = static_cast<std::uint32_t>(model.sequence);
  request.vocabulary = static_cast<std::uint32_t>(model.vocabulary);
  return ok;
}

void fit_batch(visit::LoaderRequest& request, const LoaderFlags& flags) {
  const bool given = flags.batch_option != nullptr && flags.batch_option->count() > 0;
  if (given || request.remote) return;
  const auto input = visit::open_input(request);
  if (!input) return;             // whoever opens it next says why
  constexpr int kClipBatch = 16;  // a clip is 9.6 MB of a batch
  if (loader::is_clip_key(input->dataset->name(0)))
    request.batch_size = std::min(request.batch_size, kClipBatch);
  const std::uint64_t items = visit::items_of_epoch(input->dataset->size(), request.sample_ratio);
  if (items > 0 && items < static_cast<std::uint64_t>(request.batch_size))
    request.batch_size = static_cast<int>(items);
}

Result<std::vector<std::string>> parse_libraries(const std::string& text, const std::string& mode,
                                                 bool ours_needed) {
  std::vector<std::string> names;
  for (const std::string& name : split(text, ',')) {
    const std::vector<std::string> known = library_names(mode);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, known);
      return usage_error(fmt::format(
          "--libraries {}: no {} library '{}'; {}", printable(text), mode, printable(name),
          near ? fmt::format("did you mean '{}'?", *near) : "accepted: " + join(known)));
    }
    if (std::find(names.begin(), names.end(), name) != names.end())
      return usage_error(fmt::format("--libraries {}: '{}' is named twice", printable(text), name));
    names.push_back(name);
  }
  if (ours_needed && std::find(names.begin(), names.end(), "sluice") == names.end())
    return usage_error(
        fmt::format("--libraries {}: 'sluice' is missing, which the others are compared "
                    "with",
                    printable(text)));
  return names;
}

const std::vector<std::string> kLoaderNames{"sluice", "torch", "torch-pil", "torch-tensor",
                                            "torch-albumentationsx"};

std::string loader_library(const std::string& name) {
  return name == "torch" ? "torch-pil" : name;
}

Status check_other_loader(const LoaderFlags& flags, const visit::LoaderRequest& request,
                          const std::string& library) {
  if (request.remote)
    return usage_error(fmt::format("--library {}: reads local folders only; {} is not one", library,
                                   printable(request.input)));
  const std::pair<const char*, bool> ours_only[] = {
      {"--gpu", !flags.gpu.empty() && flags.gpu != "cpu"},
      {"--recipe", flags.recipe != "rrc224"},
      {"--decode", flags.decode != "exact"},
      {"--random-erasing", flags.random_erasing > 0},
      {"--upload", flags.upload.has_value()},
      {"--read-mode", flags.read_mode.has_value()},
      {"--pin-memory", flags.pin_memory.has_value()},
      {"--no-persistent-workers", !flags.persistent_workers}};
  for (const auto& [name, given] : ours_only)
    if (given)
      return usage_error(fmt::format("{}: is for --library sluice, not for {}", name, library));
  return ok;
}

Status parse_sweep(visit::Sweep& sweep, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const bool workers = name == "workers";
  if (equals == std::string::npos || (!workers && name != "prefetch"))
    return usage_error(
        fmt::format("--sweep {}: expected workers=0,1,2,4 or prefetch=1,2,4", printable(text)));
  std::vector<int>& values = workers ? sweep.workers : sweep.prefetch;
  const int low = workers ? 0 : 1;
  for (const std::string& word : split(text.substr(equals + 1), ',')) {
    int value = -1;
    const char* end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || stop != end || value < low || value > 64)
      return usage_error(fmt::format("--sweep {}: '{}' is not a number from {} to 64",
                                     printable(text), printable(word), low));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.empty()) return usage_error(fmt::format("--sweep {}: no value", printable(text)));
  return ok;
}

}  // namespace sluice::cli
