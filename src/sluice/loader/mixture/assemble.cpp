// sluice/loader/mixture/assemble.cpp - mixed samples to the memory of a batch.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/assemble.h"

#include "sluice/core/text.h"
#include "sluice/image/planes.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader::mixture {

BatchMemory::BatchMemory(const MixtureOptions& options, int actions, int states)
    : image_size(options.image_size),
      metadata(options.metadata),
      action_size(actions),
      state_size(states) {
  const auto count = static_cast<std::size_t>(options.batch_size);
  images.resize(count * sample_bytes(image_size));
  if (metadata != Metadata::off) source.resize(count);
  if (metadata != Metadata::full) return;
  action.resize(count * static_cast<std::size_t>(action_size));
  state.resize(count * static_cast<std::size_t>(state_size));
  language.resize(count);
  episode_id.resize(count);
  robot.resize(count);
  frame.resize(count);
  offset.resize(count);
}

std::span<std::uint8_t> BatchMemory::images_of(std::size_t at) {
  const std::size_t bytes = sample_bytes(image_size);
  return std::span(images).subspan(at * bytes, bytes);
}

void BatchMemory::put(std::size_t at, const Sample& sample, const SourceSpec& spec) {
  if (metadata == Metadata::off) return;
  source[at] = sample.source;
  if (metadata != Metadata::full) return;
  const auto padded = [at](std::vector<float>& out, int size, const std::vector<float>& values) {
    const auto each = static_cast<std::size_t>(size);
    const auto to = out.begin() + static_cast<std::ptrdiff_t>(at * each);
    std::fill(std::copy(values.begin(), values.end(), to), to + static_cast<std::ptrdiff_t>(each),
              0.0F);
  };
  padded(action, action_size, sample.action);
  padded(state, state_size, sample.state);
  language[at] = sample.language;
  robot[at] = sample.robot;
  frame[at] = sample.frame;
  offset[at] = spec.offset;
  const std::string& file = spec.dataset->shards[sample.shard].file.key;
  episode_id[at] = fmt::format("{}:{}:{}", spec.name,
                               std::string_view(file).substr(file.rfind('/') + 1), sample.record);
}

void BatchMemory::copy(std::size_t to, std::size_t from) {
  std::ranges::copy(images_of(from), images_of(to).begin());
  if (metadata == Metadata::off) return;
  source[to] = source[from];
  if (metadata != Metadata::full) return;
  const auto row = [to, from](std::vector<float>& values, int size) {
    const auto each = static_cast<std::ptrdiff_t>(size);
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from) * each;
    std::copy(begin, begin + each, values.begin() + static_cast<std::ptrdiff_t>(to) * each);
  };
  row(action, action_size);
  row(state, state_size);
  language[to] = language[from];
  robot[to] = robot[from];
  episode_id[to] = episode_id[from];
  frame[to] = frame[from];
  offset[to] = offset[from];
}

MixtureBatch BatchMemory::show(std::uint64_t index, std::size_t size) const {
  MixtureBatch batch;
  batch.index = index;
  batch.size = static_cast<int>(size);
  batch.image_size = image_size;
  batch.images = std::span(images).first(size * sample_bytes(image_size));
  if (metadata == Metadata::off) return batch;
  batch.source = std::span(source).first(size);
  if (metadata != Metadata::full) return batch;
  batch.full.action_size = action_size;
  batch.full.state_size = state_size;
  batch.full.action = std::span(action).first(size * static_cast<std::size_t>(action_size));
  batch.full.state = std::span(state).first(size * static_cast<std::size_t>(state_size));
  batch.full.language = std::span(language).first(size);
  batch.full.episode_id = std::span(episode_id).first(size);
  batch.full.robot = std::span(robot).first(size);
  batch.full.frame = std::span(frame).first(size);
  batch.full.offset = std::span(offset).first(size);
  return batch;
}

Status PairDecoder::decode(std::span<std::uint8_t> out, const Sample& sample, int size,
                           Times& times) {
  const std::size_t plane = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  for (int which = 0; which < 2; ++which) {
    const std::int64_t start = thread_ns();
    const Status done = decoder_.decode(decoded_, sample.image(which));
    const std::int64_t decoded = thread_ns();
    times.decode_ns += decoded - start;
    SLUICE_CHECK(done);
    const bool fits = decoded_.width() == size && decoded_.height() == size;
    if (!fits) {
      SLUICE_CHECK(resized_.resize_for(size, size, 3));
      SLUICE_CHECK(resizer_.run(resized_.span<std::uint8_t>(), decoded_.view<std::uint8_t>()));
    }
    const std::int64_t resized = thread_ns();
    times.resize_ns += resized - decoded;
    // [3, 2, size, size]: the planes of a colour lie beside each other, frame after frame.
    image::split_planes(out.data() + static_cast<std::size_t>(which) * plane, 2 * plane,
                        (fits ? decoded_ : resized_).view<std::uint8_t>());
    times.collate_ns += thread_ns() - resized;
  }
  return ok;
}

}  // namespace sluice::loader::mixture
