// sluice/image/inputs/shared_inputs.cpp - files are decoded side by side and written in order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/shared_inputs.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/codec.h"
#include "sluice/image/dataset.h"
#include "sluice/image/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataName = "inputs.u8";
constexpr const char* kIndexName = "inputs.json";
constexpr std::int64_t kCountedOverLimit = 100;  // damaged files listed before we give up

// Formats that hold images, but that no codec of ours reads.
constexpr std::array<std::string_view, 4> kForeignSuffixes = {".bmp", ".gif", ".tif", ".tiff"};

bool is_foreign(const fs::path& path) {
  const std::string suffix = lower_suffix(path);
  return std::find(kForeignSuffixes.begin(), kForeignSuffixes.end(), suffix) !=
         kForeignSuffixes.end();
}

bool is_candidate(const fs::path& path) {
  return has_image_suffix(path) || lower_suffix(path) == ".npy" || is_foreign(path);
}

/// One file on its way from a decoding thread to the data file. Slots are reused.
struct Loaded {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> encoded;  // what the hash covers
  std::string damage;
  std::string not_colour;

  void clear() {
    shape.clear();
    damage.clear();
    not_colour.clear();
    encoded.clear();
  }
};

using Load = std::function<void(Loaded& slot, const std::string& name, unsigned worker)>;

/// The data file under a temporary name; gone again unless commit() succeeds.
class DataFile {
 public:
  static Result<DataFile> create(const fs::path& target) {
    fs::path path = target;
    path += fmt::format(".{}.tmp", ::getpid());
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return failure(path, "create", errno);
    return DataFile(fd, std::move(path), target);
  }
  DataFile(DataFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::exchange(other.path_, {})),
        target_(std::move(other.target_)),
        size_(other.size_) {}
  DataFile& operator=(DataFile&&) = delete;
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  ~DataFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// Returns where the samples start.
  Result<std::int64_t> append(std::span<const std::uint8_t> samples) {
    static constexpr std::array<std::uint8_t, kItemAlignment> kZeros{};
    const auto used = static_cast<std::size_t>(size_) % kItemAlignment;
    if (used != 0) SLUICE_CHECK(write(std::span(kZeros).first(kItemAlignment - used)));
    const std::int64_t offset = size_;
    SLUICE_CHECK(write(samples));
    return offset;
  }
  Status commit() {
    if (::close(std::exchange(fd_, -1)) != 0) return failure(target_, "write", errno);
    if (::rename(path_.c_str(), target_.c_str()) != 0) return failure(target_, "write", errno);
    path_.clear();
    return ok;
  }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  DataFile(int fd, fs::path path, fs::path target)
      : fd_(fd), path_(std::move(path)), target_(std::move(target)) {}
  static Error failure(const fs::path& path, const char* action, int error_number) {
    return {Errc::io, fmt::format("{}: cannot {}: {}", shown(path), action,
                                  std::generic_category().message(error_number))};
  }
  Status write(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure(target_, "write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      size_ += n;
    }
    return ok;
  }

  int fd_;
  fs::path path_;
  fs::path target_;
  std::int64_t size_ = 0;
};

/// Takes slots in order, keeps the books, writes both files at the end.
class Collector {
 public:
  Collector(const SharedInputsOptions& options, const char* layout, DataFile data)
      : options_(options), data_(std::move(data)) {
    index_ = Json{{"version", 1}, {"layout", layout}, {"dtype", "uint8"}, {"items", Json::array()}};
  }

  Status add(const std::string& name, const Loaded& slot) {
    if (!slot.damage.empty()) {
      result_.skipped.push_back(SkippedFile{name, slot.damage});
    } else if (!slot.not_colour.empty()) {
      result_.not_colour.push_back(SkippedFile{name, slot.not_colour});
    } else {
      SLUICE_TRY(const std::int64_t offset, data_.append(slot.pixels));
      index_["items"].push_back(
          Json{{"name", to_utf8(name)}, {"offset", offset}, {"shape", slot.shape}});
      const Bytes hashed = slot.encoded.empty() ? Bytes(slot.pixels) : Bytes(slot.encoded);
      hash_.add(name, hashed);
      result_.dataset_bytes += static_cast<std::int64_t>(hashed.size());
      ++result_.items;
    }
    return ok;
  }
  [[nodiscard]] bool full() const { return options_.limit > 0 && result_.items == options_.limit; }
  [[nodiscard]] bool hopeless() const {
    return damaged() - options_.max_corrupt > kCountedOverLimit;
  }

  Result<SharedInputs> finish() {
    if (damaged() > options_.max_corrupt) return too_many_damaged();
    if (result_.items == 0) return nothing_usable();
    result_.index = options_.folder / kIndexName;
    result_.data = options_.folder / kDataName;
    result_.bytes = data_.size();
    result_.dataset_hash = hash_.hex();
    // The old index must not be seen beside the new data.
    std::error_code ignored;
    fs::remove(result_.index, ignored);
    SLUICE_CHECK(data_.commit());
    if (Status written = write_file_atomic(result_.index, dump_json(index_, -1) + "\n"); !written) {
      fs::remove(result_.data, ignored);
      return std::move(written).error();
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int64_t damaged() const {
    return static_cast<std::int64_t>(result_.skipped.size());
  }
  [[nodiscard]] Error too_many_damaged() const {
    const SkippedFile& first = result_.skipped.front();
    return {Errc::invalid_input,
            fmt::format("{}: {}{} file{} cannot be read, {} tolerated; the first is {}: {}; "
                        "accept more with --set data.max_corrupt=N",
                        shown(options_.data_dir), hopeless() ? "at least " : "", damaged(),
                        damaged() == 1 ? "" : "s", options_.max_corrupt, printable(first.name),
                        printable(first.reason))};
  }
  [[nodiscard]] Error nothing_usable() const {
    return {
        Errc::invalid_input,
        fmt::format("{}: no usable file: {} cannot be read, {} not in colour",
                    shown(options_.data_dir), result_.skipped.size(), result_.not_colour.size())};
  }

  SharedInputsOptions options_;
  DataFile data_;
  Json index_;
  DatasetHash hash_;
  SharedInputs result_;
};

Status check_options(const SharedInputsOptions& options) {
  if (options.limit < 0 || options.max_corrupt < 0)
    return Error{Errc::usage, fmt::format("limit {} and max_corrupt {}: 0 or more are accepted",
                                          options.limit, options.max_corrupt)};
  if (options.channels != 3 && options.channels != 9)
    return Error{Errc::usage, fmt::format("{} channels: 3 and 9 are accepted", options.channels)};
  return ok;
}

Result<SharedInputs> collect(const SharedInputsOptions& options, const char* layout,
                             const std::vector<std::string>& names, ThreadPool& pool,
                             const Load& load, Progress& progress) {
  SLUICE_CHECK(create_folders(options.folder));
  SLUICE_TRY(DataFile data, DataFile::create(options.folder / kDataName));
  Collector collector(options, layout, std::move(data));
  std::vector<Loaded> window(std::size_t{4} * pool.size());  // files in memory at once
  const auto wanted = options.limit > 0
                          ? std::min(names.size(), static_cast<std::size_t>(options.limit))
                          : names.size();
  Progress::Bar bar = progress.bar("loading media", wanted, "files");
  for (std::size_t first = 0; first < names.size() && !collector.full() && !collector.hopeless();
       first += window.size()) {
    if (stop_requested()) return Error{Errc::interrupted, "stopped while media were loaded"};
    const std::size_t count = std::min(window.size(), names.size() - first);
    pool.parallel_for(count, [&](std::size_t i, unsigned worker) {
      window[i].clear();
      load(window[i], names[first + i], worker);
    });
    for (std::size_t i = 0; i < count && !collector.full(); ++i)
      SLUICE_CHECK(collector.add(names[first + i], window[i]));
    bar.set(std::min(wanted, first + count));
  }
  return collector.finish();
}

/// Rows of `image`, each pixel `copies` times.
void pack(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image, std::size_t copies) {
  out.resize(image.samples() * copies);
  const auto channels = static_cast<std::size_t>(image.channels());
  std::uint8_t* to = out.data();
  for (int y = 0; y < image.height(); ++y) {
    const std::uint8_t* row = image.row(y);
    if (copies == 1) {
      std::memcpy(to, row, image.row_bytes());
      to += image.row_bytes();
      continue;
    }
    for (int x = 0; x < image.width(); ++x, row += channels)
      for (std::size_t copy = 0; copy < copies; ++copy, to += channels)
        std::memcpy(to, row, channels);
  }
}

/// Puts the pixels of `image` into the slot, or says why they cannot be used.
void fill(Loaded& slot, const Image& image, int channels) {
  if (image.dtype() != DType::u8) {
    slot.damage = "samples of type f32; u8 is accepted";
  } else if (image.channels() < 3) {
    slot.not_colour =
        fmt::format("{} channel{}", image.channels(), image.channels() == 1 ? "" : "s");
  } else if (image.channels() != 3 && image.channels() != channels) {
    slot.damage = fmt::format("{} channels; {} accepted", image.channels(),
                              channels == 3 ? "3 are" : "3 and 9 are");
  } else {
    pack(slot.pixels, image.view<std::uint8_t>(),
         static_cast<std::size_t>(channels / image.channels()));
    slot.shape = {image.height(), image.width(), channels};
  }
}

class ImageLoader {
 public:
  ImageLoader(const SharedInputsOptions& options, unsigned workers)
      : options_(options), decoders_(workers), images_(workers) {}

  void load(Loaded& slot, const std::string& name, unsigned worker) {
    if (is_foreign(name)) {
      slot.damage =
          fmt::format("no codec for {} files; jpg, jpeg, png and npy are read", lower_suffix(name));
      return;
    }
    auto bytes = read_binary_file(options_.data_dir / name);
    if (!bytes) {
      slot.damage = bytes.error().message;
      return;
    }
    slot.encoded = std::move(*bytes);
    if (const Status decoded = decode(slot, worker); !decoded)
      slot.damage = decoded.error().message;
    else if (slot.not_colour.empty())
      fill(slot, images_[worker], options_.channels);
  }

 private:
  Status decode(Loaded& slot, unsigned worker) {
    if (is_npy(slot.encoded)) return decode_npy(images_[worker], slot.encoded);
    SLUICE_TRY(const ImageInfo info, decoders_[worker].read_info(slot.encoded));
    SLUICE_CHECK(decoders_[worker].decode(images_[worker], slot.encoded));
    if (!info.colour) slot.not_colour = "a grey image";
    return ok;
  }

  const SharedInputsOptions& options_;
  std::vector<Decoder> decoders_;
  std::vector<Image> images_;
};

/// True when the fields of `clip` are sound and agree with its pixels.
bool sound(const Clip& clip) {
  const auto fits = [](int value, int high) { return value >= 1 && value <= high; };
  if (!fits(clip.frames, kMaxSide) || !fits(clip.height, kMaxSide) || !fits(clip.width, kMaxSide) ||
      !fits(clip.channels, kMaxChannels))
    return false;
  std::size_t bytes = static_cast<std::size_t>(clip.height) * static_cast<std::size_t>(clip.width);
  return !__builtin_mul_overflow(bytes, static_cast<std::size_t>(clip.channels), &bytes) &&
         !__builtin_mul_overflow(bytes, static_cast<std::size_t>(clip.frames), &bytes) &&
         bytes == clip.pixels.size();
}

}  // namespace

Result<SharedInputs> write_shared_inputs(const SharedInputsOptions& options, Progress& progress) {
  SLUICE_CHECK(check_options(options));
  SLUICE_TRY(const std::vector<std::string> names, list_files(options.data_dir, is_candidate));
  if (names.empty())
    return Error{
        Errc::invalid_input,
        fmt::format("{}: no images; files named *.jpg, *.jpeg, *.png, *.webp or *.npy are accepted",
                    shown(options.data_dir))};
  ThreadPool pool(usable_cores());
  ImageLoader loader(options, pool.size());
  return collect(
      options, "HWC", names, pool,
      [&](Loaded& slot, const std::string& name, unsigned worker) {
        loader.load(slot, name, worker);
      },
      progress);
}

Result<SharedInputs> write_shared_clips(const SharedInputsOptions& options,
                                        const std::vector<std::string>& names, const ReadClip& read,
                                        Progress& progress) {
  SLUICE_CHECK(check_options(options));
  ThreadPool pool(usable_cores());
  std::vector<Clip> clips(pool.size());
  return collect(
      options, "THWC", names, pool,
      [&](Loaded& slot, const std::string& name, unsigned worker) {
        Clip& clip = clips[worker];
        if (const Status decoded = read(clip, options.data_dir / name, worker); !decoded) {
          slot.damage = decoded.error().message;
        } else if (!sound(clip)) {
          slot.damage = fmt::format("{} frames of {}x{}x{} do not make {} bytes", clip.frames,
                                    clip.width, clip.height, clip.channels, clip.pixels.size());
        } else {
          slot.pixels.swap(clip.pixels);
          slot.shape = {clip.frames, clip.height, clip.width, clip.channels};
        }
      },
      progress);
}

}  // namespace sluice::image
