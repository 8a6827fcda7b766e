// sluice/scenario/mixture/rows.cpp - a whole run of a mixture as one pass: our row of `bench
// mixture`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/scenario/mixture/peer.h"
#include "sluice/scenario/mixture/run.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <stdexcept>

namespace sluice::scenario {
namespace {

using loader::mixture::Metadata;
using loader::mixture::Mixture;
using loader::mixture::MixtureOptions;
using loader::mixture::SourceSpec;

std::string digest_of_batch(const loader::mixture::MixtureBatch& batch) {
  Sha256 sha;
  sha.update(batch.images);
  sha.update(std::as_bytes(batch.source));
  sha.update(std::as_bytes(batch.full.action));
  sha.update(std::as_bytes(batch.full.state));
  sha.update(std::as_bytes(batch.full.frame));
  for (const std::string& text : batch.full.language)
    sha.update(std::string_view(text));
  for (const std::string& text : batch.full.episode_id)
    sha.update(std::string_view(text));
  return sha.hex();
}

/// As many pairs as there are data sets, the first of each episode, in an order that depends on the
/// data alone.
MixtureOptions check_options(const MixtureSpec& spec, std::size_t sources) {
  MixtureOptions options = spec.options;
  options.batch_size = static_cast<int>(sources);
  options.mix_block = 1;
  options.queue = 1;
  options.prefetch = 1;
  options.samples_per_episode = 1;
  options.shuffle_episodes = false;
  options.shuffle_pairs = false;
  options.deterministic = true;
  options.one_pass = false;
  options.metadata = Metadata::full;
  options.mix = loader::mixture::Mix::deficit;
  options.seed = 0;
  return options;
}

Result<std::string> first_digest(std::vector<SourceSpec> sources, const MixtureOptions& options) {
  SLUICE_TRY(const auto mixture, Mixture::open(std::move(sources), options));
  SLUICE_TRY(const loader::mixture::MixtureBatch* batch, mixture->next());
  return digest_of_batch(*batch);
}

class MixtureSubject final : public measure::Subject {
 public:
  explicit MixtureSubject(MixtureSpec spec) : spec_(std::move(spec)) {}

  /// A batch must not depend on how many threads made it.
  Result<std::string> check() override {
    SLUICE_TRY(const auto sources, open_sources(spec_));
    MixtureOptions options = check_options(spec_, sources.size());
    SLUICE_TRY(const std::string digest, first_digest(sources, options));
    options.read_threads = options.decode_threads = 1;
    SLUICE_TRY(const std::string alone, first_digest(sources, options));
    if (digest != alone)
      return Error{Errc::measurement, "the first batch depends on the number of threads"};
    return digest;
  }

  void begin_sample() override {
    loop_ = std::make_unique<MixtureLoop>(spec_, clock_);
    require(loop_->start());
  }
  void run_pass() override {
    if (loop_ == nullptr) throw std::runtime_error("a run is one pass, and nothing comes before");
    require(loop_->measure());
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(spec_.steps) * spec_.options.batch_size;
  }
  [[nodiscard]] double bytes_per_item() const override {
    return 3.0 * 2.0 * spec_.options.image_size * spec_.options.image_size;
  }

  Json measured_info() override {
    auto run = loop_->finish();
    loop_.reset();
    if (!run) throw std::runtime_error(run.error().message);
    return to_json(*run);
  }

  [[nodiscard]] Json output_info() const override {
    const int size = spec_.options.image_size;
    return Json{{"shape", {spec_.options.batch_size, 3, 2, size, size}}, {"dtype", "uint8"}};
  }

  Result<measure::OutputSamples> sample(std::int64_t items, std::int64_t /*draws*/) override {
    return first_pairs(spec_, items);
  }

 private:
  MixtureSpec spec_;
  SystemClock clock_;
  std::unique_ptr<MixtureLoop> loop_;
};

}  // namespace

Result<std::unique_ptr<measure::Subject>> make_mixture(const measure::SubjectContext& context) {
  SLUICE_TRY(MixtureSpec spec, mixture_spec_from_json(context.spec));
  SLUICE_CHECK(check(spec));
  return std::unique_ptr<measure::Subject>(std::make_unique<MixtureSubject>(std::move(spec)));
}

}  // namespace sluice::scenario
