// sluice/loader/gpu/table.h - the interface between the program and libsluice_nvjpeg.so: JPEGs and
// pixels in, batches on the device out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The module is built with the program, by nvcc and the same host compiler. Any change here raises
// kImageAbi. No function throws or prints. Calls of a line are made by one thread at a time.

namespace sluice::loader::gpu {

inline constexpr std::uint32_t kImageAbi = 3;
inline constexpr const char* kImageSymbol = "sluice_nvjpeg_table";

struct Line;  // one GPU, nvJPEG's decoder on it, and the memory of a few batches

/// 0 is success; otherwise message() of the line (or `why`) says what failed.
enum : int { kDone = 0, kFailed = 1, kOutOfMemory = 2, kHung = 3 };

struct LineOptions {
  int device = 0;
  int side = 224;          // of what comes out
  int most_samples = 256;  // of a batch
  int buffers = 2;         // batches that may be under way or in use
  /// The device computes for others too, a training for instance: nvJPEG decodes a batch as a whole
  /// (a tenth slower by itself), for every chunk of its pipeline waits for the kernels of others.
  bool shared = false;
  const char* library = nullptr;  // file of libnvjpeg; null: SLUICE_NVJPEG, then the usual places
};

struct LineFacts {
  char device[128];
  char library[256];  // file that was loaded
  int version[3];     // of nvJPEG
  int engines;        // for JPEG, in hardware; 0: decoding runs on the multiprocessors
};

enum class Lane : std::uint32_t {
  pixels,   // side x side x 3 bytes, HWC: cropped, resized and mirrored by a CPU
  encoded,  // a JPEG that the decoder takes: see jpeg_header.h
};
enum class Change : std::int32_t { grayscale, solarize, blur };  // 3-Augment's
enum class Step : std::int32_t { brightness, contrast, saturation };

/// A rectangle of what comes out, and the level of each channel that fills it; width 0: none.
struct Erased {
  std::int32_t x = 0, y = 0, width = 0, height = 0;
  std::int32_t levels[3] = {};
};

/// What was drawn for a sample, as integers: the arithmetic is that of room aug, bit for bit.
struct SampleDraw {
  std::int32_t x = 0, y = 0, width = 0, height = 0;  // the part, in pixels of the JPEG
  std::int32_t mirrored = 0;
  Change change = Change::grayscale;
  std::int32_t columns[3] = {};  // the blur of 5 taps: 256ths, one side, and
  std::int32_t rows[3] = {};     // 32768ths, both sides together (aug/filters/gaussian.h)
  std::int32_t brightness = 8192, contrast = 8192, saturation = 8192;  // 8192ths
  Step order[3] = {Step::brightness, Step::contrast, Step::saturation};
  Erased erased;  // after all else
};

struct Sample {
  const std::uint8_t* data = nullptr;
  std::uint64_t bytes = 0;
  Lane lane = Lane::pixels;
  std::int32_t width = 0, height = 0;  // of the JPEG
  SampleDraw draw;
};

enum class Resample : std::int32_t { bilinear, bicubic };  // both antialiased
enum class Augment : std::int32_t {
  none,
  fused,     // 3-Augment, jitter and output in one kernel
  separate,  // each step a kernel of its own
};
enum class Output : std::int32_t { u8_hwc, f32_chw };

struct Table {
  std::uint32_t abi = kImageAbi;
  const char* built = nullptr;  // "CUDA 13.0"
  /// kFailed and `why`: no driver, no such device, no libnvjpeg.
  int (*open)(const LineOptions* options, Line** line, LineFacts* facts, char* why,
              std::size_t why_bytes) = nullptr;
  void (*close)(Line* line) = nullptr;
  const char* (*message)(Line* line) = nullptr;    // of the last call that failed
  std::size_t (*own_bytes)(Line* line) = nullptr;  // on the device
  /// Host memory that devices copy from directly, aligned to pages. For any thread; lives on after
  /// the line.
  int (*pin)(Line* line, std::size_t bytes, void** memory) = nullptr;
  void (*unpin)(void* memory) = nullptr;
  /// f32 of a level, 256 for each of three channels. Before the first f32 batch.
  int (*set_levels)(Line* line, const float* levels) = nullptr;

  /// Decodes those of the encoded lane into `buffer`; returns when they are handed over, which
  /// takes most of the time that decoding takes. refused[i] = 1: the decoder does not take sample
  /// i, and process() wants its pixels. Damage inside of a scan is not seen by engines.
  int (*decode)(Line* line, int buffer, const Sample* samples, int count,
                std::uint8_t* refused) = nullptr;
  /// Makes the batch: uploads pixels, crops, augments. `samples` are those of decode(), but what
  /// was refused is now of the pixels lane. Their `data` must live until wait(). Starts after
  /// `after` (a cudaEvent_t; null: at once): whoever still reads the buffer's output.
  int (*process)(Line* line, int buffer, const Sample* samples, int count, Resample resample,
                 Augment augment, Output output, void* after) = nullptr;
  /// Waits for process(): kHung at the limit.
  int (*wait)(Line* line, int buffer, double limit_seconds) = nullptr;

  /// On the device; until the buffer's next process().
  void* (*output)(Line* line, int buffer) = nullptr;
  void* (*ready)(Line* line, int buffer) = nullptr;  // a cudaEvent_t: process() has run
  /// Of the last process(), in order: cropped pixels, u8 HWC.
  void* (*cropped)(Line* line, int buffer) = nullptr;
  int (*download)(Line* line, void* to, const void* from, std::size_t bytes) = nullptr;  // waits
  /// Of a decoded sample, tight rows of RGB: for tests.
  int (*decoded)(Line* line, int buffer, int sample, std::uint8_t* to) = nullptr;
};

using TableFunction = const Table*();  // extern "C", the one symbol of the module

}  // namespace sluice::loader::gpu
