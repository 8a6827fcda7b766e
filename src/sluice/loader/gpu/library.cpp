// sluice/loader/gpu/library.cpp - loads the module; the module's codes become errors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/library.h"

#include "sluice/core/module.h"
#include "sluice/loader/recipe/place.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sluice::loader::gpu {
namespace {

constexpr double kLongestSeconds = 60;  // of one wait

Result<const Table*> load_table() {
  const Result<void*> symbol = load_module("nvjpeg", kImageSymbol);
  if (!symbol)
    return Error{Errc::usage,
                 fmt::format("this build decodes no images on a GPU ({}; it is built where the "
                             "CUDA toolkit is found)",
                             symbol.error().message)};
  const Table* table = reinterpret_cast<TableFunction*>(symbol.value())();
  if (table == nullptr || table->abi != kImageAbi)
    return Error{Errc::usage,
                 fmt::format("libsluice_nvjpeg.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kImageAbi)};
  return table;
}

class LinePinnedAllocator final : public PinnedAllocator {
 public:
  LinePinnedAllocator(const Table* table, Line* line) : table_(table), line_(line) {}
  Result<std::span<std::byte>> allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (table_->pin(line_, bytes, &memory) != kDone)
      return Error{Errc::usage,
                   fmt::format("{} bytes of pinned memory: {}", bytes, table_->message(line_))};
    return std::span(static_cast<std::byte*>(memory), bytes);
  }
  void free(std::span<std::byte> memory) override { table_->unpin(memory.data()); }

 private:
  const Table* table_;
  Line* line_;
};

}  // namespace

Result<const Table*> library() {
  static const Result<const Table*> loaded = load_table();
  return loaded;
}

Result<ImageLine> ImageLine::open(const LineOptions& options) {
  SLUICE_TRY(const Table* table, library());
  return open_with(*table, options);
}

Result<ImageLine> ImageLine::open_with(const Table& table, const LineOptions& options) {
  Line* line = nullptr;
  LineFacts facts{};
  std::array<char, 512> why{};
  if (table.open(&options, &line, &facts, why.data(), why.size()) != kDone)
    return Error{Errc::usage,
                 fmt::format("images on device cuda:{}: {}", options.device, why.data())};
  return ImageLine(&table, line, options, facts);
}

ImageLine::ImageLine(ImageLine&& other) noexcept
    : table_(other.table_),
      line_(std::exchange(other.line_, nullptr)),
      options_(other.options_),
      facts_(other.facts_) {}

ImageLine::~ImageLine() {
  if (line_ != nullptr) table_->close(line_);
}

Status ImageLine::status(int code, std::string_view what) const {
  if (code == kDone) return ok;
  return Error{code == kOutOfMemory ? Errc::usage : Errc::measurement,
               fmt::format("images on device cuda:{}, {}: {}", options_.device, what,
                           table_->message(line_))};
}

std::size_t ImageLine::own_bytes() const {
  return table_->own_bytes(line_);
}

std::shared_ptr<PinnedAllocator> ImageLine::pinned_allocator() {
  return std::make_shared<LinePinnedAllocator>(table_, line_);
}

Status ImageLine::set_levels(const image::Normalization& normalization) {
  const std::vector<float> levels = normalized_levels(normalization);
  if (levels.size() != 3 * 256)
    return Error{Errc::usage, "images on a GPU are normalised in three channels"};
  return status(table_->set_levels(line_, levels.data()), "levels");
}

Result<std::vector<std::size_t>> ImageLine::decode(int buffer, std::span<const Sample> samples) {
  refused_.resize(samples.size());
  SLUICE_CHECK(status(table_->decode(line_, buffer, samples.data(),
                                     static_cast<int>(samples.size()), refused_.data()),
                      "decode"));
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (refused_[i] != 0) numbers.push_back(i);
  return numbers;
}

Status ImageLine::process(int buffer, std::span<const Sample> samples, Resample resample,
                          Augment augment, Output output, void* after) {
  return status(table_->process(line_, buffer, samples.data(), static_cast<int>(samples.size()),
                                resample, augment, output, after),
                "augment");
}

Status ImageLine::wait(int buffer) {
  return status(table_->wait(line_, buffer, kLongestSeconds), "augment");
}

void* ImageLine::output(int buffer) const {
  return table_->output(line_, buffer);
}
void* ImageLine::ready(int buffer) const {
  return table_->ready(line_, buffer);
}

Status ImageLine::download(std::span<std::byte> to, const void* from) {
  return status(table_->download(line_, to.data(), from, to.size()), "download");
}
Status ImageLine::download_cropped(int buffer, std::span<std::byte> to) {
  return download(to, table_->cropped(line_, buffer));
}
Status ImageLine::download_output(int buffer, std::span<std::byte> to) {
  return download(to, table_->output(line_, buffer));
}
Status ImageLine::download_decoded(int buffer, int sample, std::span<std::uint8_t> to) {
  return status(table_->decoded(line_, buffer, sample, to.data()), "decode");
}

}  // namespace sluice::loader::gpu
