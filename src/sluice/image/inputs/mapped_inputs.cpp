// sluice/image/inputs/mapped_inputs.cpp - shared inputs as a worker sees them: the index is not
// trusted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/image/inputs/shared_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 28;

Error bad(std::string message) {
  return Error{Errc::invalid_input, std::move(message)};
}

/// A whole number from `low` to `high`, or nothing.
std::optional<std::int64_t> whole(const Json& value, std::int64_t low, std::int64_t high) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(high)) return std::nullopt;
    return static_cast<std::int64_t>(number) < low
               ? std::nullopt
               : std::optional<std::int64_t>(static_cast<std::int64_t>(number));
  }
  return std::nullopt;  // negative, or no whole number
}

Status read_shape(MappedInputs::Item& item, const Json& shape, bool clips) {
  const std::size_t sides = clips ? 4 : 3;
  if (!shape.is_array() || shape.size() != sides)
    return bad(fmt::format("shape is no list of {} sizes", sides));
  std::size_t next = 0;
  std::uint64_t bytes = 1;
  for (int* side : {&item.frames, &item.height, &item.width, &item.channels}) {
    if (side == &item.frames && !clips) continue;
    const auto value = whole(shape[next++], 1, side == &item.channels ? kMaxChannels : kMaxSide);
    if (!value) return bad("shape has a size that is not accepted");
    *side = static_cast<int>(*value);
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(*value), &bytes))
      return bad("shape is too large to count");
  }
  return ok;
}

Result<MappedInputs::Item> read_item(const Json& entry, bool clips, std::size_t data_bytes) {
  if (!entry.is_object()) return bad("no object");
  MappedInputs::Item item;
  if (const auto name = entry.find("name"); name != entry.end() && name->is_string())
    item.name = name->get<std::string>();
  const auto shape = entry.find("shape");
  if (shape == entry.end()) return bad("no shape");
  SLUICE_CHECK(read_shape(item, *shape, clips));
  const auto offset = entry.find("offset");
  const auto start =
      offset == entry.end() ? std::nullopt : whole(*offset, 0, std::int64_t{1} << 62);
  if (!start || static_cast<std::size_t>(*start) % kItemAlignment != 0)
    return bad(fmt::format("offset is no multiple of {}", kItemAlignment));
  item.offset = static_cast<std::size_t>(*start);
  if (item.offset > data_bytes || item.bytes() > data_bytes - item.offset)
    return bad(fmt::format("{} bytes at {} lie outside the {} bytes of the data", item.bytes(),
                           item.offset, data_bytes));
  return item;
}

Status check_overlaps(const std::vector<MappedInputs::Item>& items) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // start, end
  ranges.reserve(items.size());
  for (const MappedInputs::Item& item : items)
    ranges.push_back({item.offset, item.offset + item.bytes()});
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return bad(fmt::format("two items overlap at byte {}", ranges[i].first));
  return ok;
}

Status check_head(const Json& index) {
  const auto is = [&](const char* key, const Json& value) {
    return index.is_object() && index.contains(key) && index.at(key) == value;
  };
  if (!is("version", 1)) return bad("'version' is not 1");
  if (!is("layout", "HWC") && !is("layout", "THWC")) return bad("'layout' is neither HWC nor THWC");
  if (!is("dtype", "uint8")) return bad("'dtype' is not uint8");
  if (!index.contains("items") || !index.at("items").is_array() || index.at("items").empty())
    return bad("'items' is no list with entries");
  return ok;
}

Result<std::vector<MappedInputs::Item>> read_items(const Json& index, std::size_t data_bytes) {
  SLUICE_CHECK(check_head(index));
  const bool clips = index.at("layout") == "THWC";
  std::vector<MappedInputs::Item> items;
  for (const Json& entry : index.at("items")) {
    auto item = read_item(entry, clips, data_bytes);
    if (!item) return bad(fmt::format("item {}: {}", items.size(), item.error().message));
    items.push_back(std::move(*item));
  }
  SLUICE_CHECK(check_overlaps(items));
  return items;
}

Error os_error(const fs::path& path, const char* action) {
  const int number = errno;
  return {number == ENOENT || number == ENOTDIR ? Errc::not_found : Errc::io,
          fmt::format("{}: cannot {}: {}", shown(path), action,
                      std::generic_category().message(number))};
}

}  // namespace

Result<MappedInputs> MappedInputs::open(const fs::path& index, const fs::path& data) {
  SLUICE_TRY(const std::string text, read_text_file(index, kMaxIndexBytes));
  SLUICE_TRY(const Json json, parse_json(text, index.string()));
  const int fd = ::open(data.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return os_error(data, "open");
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  MappedInputs inputs;
  if (known) {
    void* memory =
        ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      inputs.data_ = static_cast<const std::uint8_t*>(memory);
      inputs.length_ = static_cast<std::size_t>(info.st_size);
    }
  }
  const int map_errno = errno;
  ::close(fd);
  if (!known) return bad(fmt::format("{}: not a file with data", shown(data)));
  errno = map_errno;
  if (inputs.data_ == nullptr) return os_error(data, "map");
  auto items = read_items(json, inputs.length_);
  if (!items) return bad(fmt::format("{}: {}", shown(index), items.error().message));
  inputs.clips_ = json.at("layout") == "THWC";
  inputs.items_ = std::move(*items);
  return inputs;
}

MappedInputs::~MappedInputs() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), length_);
}

MappedInputs::MappedInputs(MappedInputs&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      length_(std::exchange(other.length_, 0)),
      clips_(other.clips_),
      items_(std::move(other.items_)) {}

ImageView<std::uint8_t> MappedInputs::view(std::size_t index, int frame) const {
  const Item& item = items_[index];
  assert(frame >= 0 && frame < item.frames);
  return {data_ + item.offset + static_cast<std::size_t>(frame) * item.frame_bytes(), item.width,
          item.height, item.channels,
          static_cast<std::size_t>(item.width) * static_cast<std::size_t>(item.channels)};
}

std::int64_t MappedInputs::bytes() const {
  std::int64_t total = 0;
  for (const Item& item : items_)
    total += static_cast<std::int64_t>(item.bytes());
  return total;
}

}  // namespace sluice::image
