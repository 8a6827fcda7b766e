// sluice/loader/gpu_module/batches.cpp - a batch's way: decode, what came of it, crop and augment.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu_module/line.h"

#include <algorithm>
#include <iterator>

namespace sluice::loader::gpu {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr double kLongestWait = 600;  // seconds, where the caller names no limit

std::size_t image_bytes(const Sample& sample) {
  return 3 * static_cast<std::size_t>(sample.width) * static_cast<std::size_t>(sample.height);
}
std::size_t crop_bytes(const Line& line) {
  const auto side = static_cast<std::size_t>(line.options.side);
  return 3 * side * side;
}

int buffer_at(Line& line, int buffer, int count, BatchBuffer*& found) {
  if (buffer < 0 || buffer >= line.options.buffers || count < 0 ||
      count > line.options.most_samples)
    return refuse(line, "buffer %d with %d samples; this line has %d of %d", buffer, count,
                  line.options.buffers, line.options.most_samples);
  found = &line.buffers[static_cast<std::size_t>(buffer)];
  return enter(line);
}

/// Where decoded images will lie; the arguments of nvJPEG.
int place_images(Line& line, BatchBuffer& buffer, const Sample* samples, int count) {
  std::size_t bytes = 0;
  buffer.places.assign(static_cast<std::size_t>(count), 0);
  buffer.widths.assign(static_cast<std::size_t>(count), 0);
  buffer.heights.assign(static_cast<std::size_t>(count), 0);
  line.data.clear();
  line.lengths.clear();
  line.images.clear();
  line.numbers.clear();
  for (int i = 0; i < count; ++i) {
    const Sample& sample = samples[i];
    if (sample.lane != Lane::encoded) continue;
    const SampleDraw& d = sample.draw;
    if (sample.width < 1 || sample.height < 1 || d.x < 0 || d.y < 0 || d.width < 1 ||
        d.height < 1 || d.width > sample.width - d.x || d.height > sample.height - d.y)
      return refuse(line, "sample %d: the part drawn lies outside of the image", i);
    const auto n = static_cast<std::size_t>(i);
    buffer.places[n] = bytes;
    buffer.widths[n] = sample.width;
    buffer.heights[n] = sample.height;
    bytes += (image_bytes(sample) + kAlignment - 1) / kAlignment * kAlignment;
    line.data.push_back(sample.data);
    line.lengths.push_back(sample.bytes);
    line.numbers.push_back(i);
  }
  if (const int result = reserve(line, buffer.decoded, bytes)) return result;
  for (const int i : line.numbers) {
    nvjpeg::Image image{};
    image.channel[0] = static_cast<unsigned char*>(buffer.decoded.start) +
                       buffer.places[static_cast<std::size_t>(i)];
    image.pitch[0] = 3 * static_cast<std::size_t>(samples[i].width);
    line.images.push_back(image);
  }
  return kDone;
}

/// One image refused fails those after it, too: each is decoded alone.
void decode_one_by_one(Line& line, BatchBuffer& buffer, std::uint8_t* refused) {
  for (std::size_t k = 0; k < line.data.size(); ++k)
    if (line.call.DecodeBatched(line.decoder, line.single, &line.data[k], &line.lengths[k],
                                &line.images[k], line.decoding) != nvjpeg::kSuccess) {
      refused[line.numbers[k]] = 1;
      buffer.widths[static_cast<std::size_t>(line.numbers[k])] = 0;
    }
}

int decode_all(Line& line, BatchBuffer& buffer, std::uint8_t* refused) {
  const int images = static_cast<int>(line.data.size());
  if (images == 0) return kDone;
  int status = nvjpeg::kSuccess;
  if (line.initialised != images) {
    status =
        line.call.DecodeBatchedInitialize(line.decoder, line.state, images, 1, nvjpeg::kOutputRgbi);
    if (status != nvjpeg::kSuccess)
      return refuse(line, "nvjpegDecodeBatchedInitialize: %s", nvjpeg::status_name(status));
    line.initialised = images;
  }
  status = line.call.DecodeBatched(line.decoder, line.state, line.data.data(), line.lengths.data(),
                                   line.images.data(), line.decoding);
  if (status == nvjpeg::kSuccess) return kDone;
  if (const cudaError_t error = cudaStreamSynchronize(line.decoding))
    return fail(line, "nvjpegDecodeBatched", error);
  if (status == nvjpeg::kAllocatorFailure) {
    refuse(line, "nvjpegDecodeBatched: too little memory on the device");
    return kOutOfMemory;
  }
  line.initialised = 0;
  decode_one_by_one(line, buffer, refused);
  return kDone;
}

/// Every number is looked at before it is added to another.
bool inside(const Erased& box, int side) {
  const auto fits = [side](std::int32_t at, std::int32_t size) {
    return at >= 0 && size >= 0 && at <= side && size <= side - at;
  };
  const auto is_level = [](std::int32_t level) { return level >= 0 && level < 256; };
  return fits(box.x, box.width) && fits(box.y, box.height) &&
         std::all_of(std::begin(box.levels), std::end(box.levels), is_level);
}

int stage_samples(Line& line, BatchBuffer& buffer, const Sample* samples, int count) {
  for (int i = 0; i < count; ++i) {
    const Sample& sample = samples[i];
    if (!inside(sample.draw.erased, line.options.side))
      return refuse(line, "sample %d: what is to be erased lies outside of it", i);
    DeviceSample to;
    to.draw = sample.draw;
    const auto n = static_cast<std::size_t>(i);
    if (sample.lane == Lane::encoded) {
      if (sample.width != buffer.widths[n] || sample.height != buffer.heights[n])
        return refuse(line, "sample %d was not decoded", i);
      to.image = static_cast<const std::uint8_t*>(buffer.decoded.start) + buffer.places[n];
      to.width = sample.width;
      to.height = sample.height;
      to.pitch = 3LL * sample.width;
    }
    buffer.staged[i] = to;
  }
  if (const cudaError_t error = cudaMemcpyAsync(
          buffer.samples, buffer.staged, static_cast<std::size_t>(count) * sizeof *buffer.staged,
          cudaMemcpyHostToDevice, line.working))
    return fail(line, "cudaMemcpyAsync", error);
  return kDone;
}

/// Neighbours that lie evenly apart are one copy.
int upload_pixels(Line& line, BatchBuffer& buffer, const Sample* samples, int count) {
  const std::size_t bytes = crop_bytes(line);
  const auto is_pixels = [&](int i) { return i < count && samples[i].lane == Lane::pixels; };
  for (int i = 0; i < count;) {
    if (!is_pixels(i)) {
      ++i;
      continue;
    }
    if (samples[i].data == nullptr) return refuse(line, "sample %d has no pixels", i);
    int end = i + 1;
    std::size_t apart = bytes;
    if (is_pixels(end) && samples[end].data >= samples[i].data + bytes)
      apart = static_cast<std::size_t>(samples[end].data - samples[i].data);
    while (is_pixels(end) && samples[end].data == samples[end - 1].data + apart)
      ++end;
    if (const cudaError_t error = cudaMemcpy2DAsync(
            static_cast<std::uint8_t*>(buffer.crops.start) + static_cast<std::size_t>(i) * bytes,
            bytes, samples[i].data, apart, bytes, static_cast<std::size_t>(end - i),
            cudaMemcpyHostToDevice, line.working))
      return fail(line, "cudaMemcpy2DAsync", error);
    i = end;
  }
  return kDone;
}

}  // namespace

int decode(Line& line, int number, const Sample* samples, int count, std::uint8_t* refused) {
  BatchBuffer* buffer = nullptr;
  if (const int result = buffer_at(line, number, count, buffer)) return result;
  if (const int result = wait_for(line, buffer->process_ran, kLongestWait)) return result;
  if (const int result = place_images(line, *buffer, samples, count)) return result;
  std::fill_n(refused, count, std::uint8_t{0});
  if (const int result = decode_all(line, *buffer, refused)) return result;
  if (const cudaError_t error = cudaEventRecord(buffer->decode_ran, line.decoding))
    return fail(line, "cudaEventRecord", error);
  return kDone;
}

int process(Line& line, int number, const Sample* samples, int count, Resample resample,
            Augment augment, Output output, void* after) {
  BatchBuffer* buffer = nullptr;
  if (const int result = buffer_at(line, number, count, buffer)) return result;
  if (static_cast<std::size_t>(count) != buffer->widths.size())
    return refuse(line, "process() of %d samples after decode() of %zu", count,
                  buffer->widths.size());
  if (const int result = wait_for(line, buffer->process_ran, kLongestWait)) return result;
  if (output == Output::f32_chw && !line.has_levels)
    return refuse(line, "f32 is asked for before its levels are set");
  const auto samples_bytes = static_cast<std::size_t>(count) * crop_bytes(line);
  const std::size_t output_bytes = output == Output::f32_chw ? 4 * samples_bytes : samples_bytes;
  if (const int result = reserve(line, buffer->crops, samples_bytes)) return result;
  if (const int result = reserve(line, buffer->output, output_bytes)) return result;
  if (augment != Augment::none)
    if (const int result = reserve(line, buffer->scratch, samples_bytes)) return result;
  for (const cudaEvent_t event : {buffer->decode_ran, static_cast<cudaEvent_t>(after)})
    if (event != nullptr)
      if (const cudaError_t error = cudaStreamWaitEvent(line.working, event))
        return fail(line, "cudaStreamWaitEvent", error);
  if (const int result = stage_samples(line, *buffer, samples, count)) return result;
  if (const int result = upload_pixels(line, *buffer, samples, count)) return result;

  BatchOnDevice batch;
  batch.samples = buffer->samples;
  batch.count = count;
  batch.side = line.options.side;
  batch.crops = static_cast<std::uint8_t*>(buffer->crops.start);
  batch.scratch = static_cast<std::uint8_t*>(buffer->scratch.start);
  batch.sums = buffer->sums;
  batch.levels = line.levels;
  batch.output = buffer->output.start;
  batch.kind = output;
  cudaError_t error = launch_crop(batch, resample, line.working);
  if (error == cudaSuccess) {
    if (augment == Augment::fused)
      error = launch_fused(batch, line.working);
    else if (augment == Augment::separate)
      error = launch_separate(batch, line.working);
    else if (output == Output::f32_chw)
      error = launch_normalise(batch, line.working);
    else
      error = cudaMemcpyAsync(batch.output, batch.crops, samples_bytes, cudaMemcpyDeviceToDevice,
                              line.working);
  }
  const bool erases = std::any_of(samples, samples + count,
                                  [](const Sample& s) { return s.draw.erased.width > 0; });
  if (error == cudaSuccess && erases) error = launch_erase(batch, line.working);
  if (error == cudaSuccess) error = cudaEventRecord(buffer->process_ran, line.working);
  return error == cudaSuccess ? int{kDone} : fail(line, "process", error);
}

int wait(Line& line, int number, double limit_seconds) {
  BatchBuffer* buffer = nullptr;
  if (const int result = buffer_at(line, number, 0, buffer)) return result;
  return wait_for(line, buffer->process_ran, limit_seconds);
}

int download(Line& line, void* to, const void* from, std::size_t bytes) {
  if (const int result = enter(line)) return result;
  if (const cudaError_t error =
          cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, line.working))
    return fail(line, "cudaMemcpyAsync", error);
  const cudaError_t error = cudaStreamSynchronize(line.working);
  return error == cudaSuccess ? int{kDone} : fail(line, "download", error);
}

int decoded(Line& line, int number, int sample, std::uint8_t* to) {
  BatchBuffer* buffer = nullptr;
  if (const int result = buffer_at(line, number, 0, buffer)) return result;
  const auto n = static_cast<std::size_t>(sample);
  if (sample < 0 || n >= buffer->widths.size() || buffer->widths[n] == 0)
    return refuse(line, "sample %d was not decoded", sample);
  if (const int result = wait_for(line, buffer->decode_ran, kLongestWait)) return result;
  return download(line, to, static_cast<std::uint8_t*>(buffer->decoded.start) + buffer->places[n],
                  3 * static_cast<std::size_t>(buffer->widths[n]) *
                      static_cast<std::size_t>(buffer->heights[n]));
}

}  // namespace sluice::loader::gpu
