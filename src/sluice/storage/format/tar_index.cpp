// sluice/storage/format/tar_index.cpp - where the members of an uncompressed tar lie, in any store.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tar_index.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>

namespace sluice::storage {
namespace {

constexpr std::uint64_t kTarBlock = 512;
constexpr std::size_t kWindow = 4096;  // where any size of read is fine
constexpr std::uint64_t kMaxMemberName = 4096;
constexpr std::uint64_t kMaxExtended = std::uint64_t{1} << 20;  // of a pax header
constexpr std::uint64_t kMaxContent = std::uint64_t{64} << 10;

using Header = std::span<const std::byte, kTarBlock>;

std::string_view header_text(Header header, std::size_t at, std::size_t size) {
  const std::string_view field(reinterpret_cast<const char*>(header.data()) + at, size);
  return field.substr(0, std::min(field.find('\0'), size));
}

/// Octal digits with spaces around, or GNU's base 256 after a byte of 0x80. Nothing: neither.
std::optional<std::uint64_t> number(Header header, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  if (header[at] == std::byte{0x80}) {
    for (std::size_t i = at + 1; i < at + size; ++i) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(header[i]);
    }
    return value;
  }
  std::string_view digits = header_text(header, at, size);
  while (!digits.empty() && digits.front() == ' ')
    digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ')
    digits.remove_suffix(1);
  if (digits.empty()) return 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// Bytes added up as unsigned or, as some old writers had it, as signed.
bool checksum_fits(Header header) {
  const auto stated = number(header, 148, 8);
  std::int64_t plain = 0, with_sign = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const int byte = i >= 148 && i < 156 ? ' ' : std::to_integer<int>(header[i]);
    plain += byte;
    with_sign += byte < 128 ? byte : byte - 256;
  }
  if (!stated) return false;
  const auto value = static_cast<std::int64_t>(*stated);
  return value == plain || value == with_sign;
}

bool is_zero(Header header) {
  return std::all_of(header.begin(), header.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string name_of(Header header) {
  const std::string name(header_text(header, 0, 100));
  if (header_text(header, 257, 6) != "ustar")
    return name;  // v7; GNU's "ustar  " has no prefix either
  const std::string_view prefix = header_text(header, 345, 155);
  return prefix.empty() ? name : fmt::format("{}/{}", prefix, name);
}

/// What extended headers say of the member that follows.
struct Extended {
  std::optional<std::string> name{};
  std::optional<std::uint64_t> size{};
};

/// Records "LENGTH key=value\n". An Error says only what is wrong.
Status parse_pax(Extended& out, std::string_view records, bool global) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc() || length > records.size() || length < digits + 3 ||
        records[digits] != ' ' || records[length - 1] != '\n')
      return Error{Errc::invalid_input, "a pax record that is not 'LENGTH key=value'"};
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == record.npos) return Error{Errc::invalid_input, "a pax record without '='"};
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key.substr(0, 10) == "GNU.sparse")
      return Error{Errc::invalid_input, "a sparse member; plain ones are accepted"};
    if (key != "path" && key != "size") continue;
    if (global)
      return Error{Errc::invalid_input, "a global header that renames or resizes all members"};
    if (key == "path") {
      out.name = value;
      continue;
    }
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    if (value.empty() || parsed.ec != std::errc() || parsed.ptr != value.data() + value.size())
      return Error{Errc::invalid_input,
                   fmt::format("size '{}' in a pax record", printable(value.substr(0, 40)))};
    out.size = size;
  }
  return ok;
}

}  // namespace

struct TarScan::State {
  ObjectStore& store;
  Object archive;
  std::size_t window;
  std::uint64_t position = 0;  // of the next header
  ReadBuffer buffer{};
  std::span<const std::byte> held{};
  std::uint64_t held_at = 0;

  [[nodiscard]] Error wrong(std::uint64_t at, std::string_view what) const {
    return {Errc::invalid_input,
            fmt::format("{}/{}: not a sound tar, at byte {}: {}", printable(store.name()),
                        printable(archive.key), at, what)};
  }

  /// Precondition: the archive has them.
  Result<std::span<const std::byte>> bytes(std::uint64_t at, std::size_t size) {
    if (at < held_at || at + size > held_at + held.size()) {
      const auto more = static_cast<std::size_t>(
          std::min<std::uint64_t>(std::max(window, size), archive.size - at));
      held = {};
      SLUICE_TRY(held, store.read(archive, at, more, buffer));
      held_at = at;
    }
    return held.subspan(static_cast<std::size_t>(at - held_at), size);
  }

  /// Only zeros may follow the first block of them.
  Status check_end(std::uint64_t at) {
    const std::uint64_t end = std::min(archive.size, at + 2 * kTarBlock);
    SLUICE_TRY(const auto rest, bytes(at, static_cast<std::size_t>(end - at)));
    if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; }))
      return wrong(at, "something follows the end mark");
    return ok;
  }

  /// The header at `position`; nothing at the end.
  Result<std::optional<Header>> header() {
    if (position == archive.size)
      return wrong(position, "it ends without an end mark, as if cut short");
    if (archive.size - position < kTarBlock) return wrong(position, "it ends inside a header");
    SLUICE_TRY(const auto block, bytes(position, kTarBlock));
    const Header found(block.data(), kTarBlock);
    if (is_zero(found)) {
      SLUICE_CHECK(check_end(position));
      return std::optional<Header>();
    }
    if (!checksum_fits(found)) return wrong(position, "the checksum of a header is wrong");
    return std::optional<Header>(found);
  }

  /// Moves behind content of `size` bytes after the header at `position`.
  Status skip(std::uint64_t size) {
    const std::uint64_t begin = position + kTarBlock;
    if (size > archive.size - begin)
      return wrong(position, fmt::format("a member of {} bytes, but {} are left", size,
                                         archive.size - begin));
    // The last member may lack its padding.
    position = std::min(archive.size, begin + (size + kTarBlock - 1) / kTarBlock * kTarBlock);
    return ok;
  }

  Result<std::string> extension(std::uint64_t size, std::uint64_t limit) {
    if (size > limit)
      return wrong(position,
                   fmt::format("an extended header of {} bytes; {} are accepted", size, limit));
    const std::uint64_t begin = position + kTarBlock;
    SLUICE_CHECK(skip(size));
    SLUICE_TRY(const auto found, bytes(begin, static_cast<std::size_t>(size)));
    return std::string(reinterpret_cast<const char*>(found.data()), found.size());
  }

  Status extend(Extended& extended, char type, std::uint64_t size) {
    const std::uint64_t at = position;
    if (type == 'L' || type == 'K') {
      SLUICE_TRY(std::string name, extension(size, kMaxMemberName + 1));
      if (type == 'L') extended.name = name.substr(0, name.find('\0'));
      return ok;
    }
    SLUICE_TRY(const std::string records, extension(size, kMaxExtended));
    const Status parsed = parse_pax(extended, records, type == 'g');
    if (!parsed) return wrong(at, parsed.error().message);
    return ok;
  }

  Result<std::optional<TarMember>> next();
};

Result<std::optional<TarMember>> TarScan::State::next() {
  Extended extended;
  for (;;) {
    SLUICE_TRY(const auto found, header());
    if (!found && (extended.name || extended.size))
      return wrong(position, "an extended header that no member follows");
    if (!found) return std::optional<TarMember>();
    const Header block = *found;
    const char type = static_cast<char>(block[156]);
    const auto stated = number(block, 124, 12);
    if (!stated) return wrong(position, "the size of a member is no number");
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
      SLUICE_CHECK(extend(extended, type, *stated));
      continue;
    }
    if (type == 'S') return wrong(position, "a sparse member; plain ones are accepted");
    std::string name = extended.name ? *extended.name : name_of(block);
    // Links, devices, folders and pipes have no content, whatever the field says.
    const bool empty = type >= '1' && type <= '6';
    const std::uint64_t size = empty ? 0 : extended.size.value_or(*stated);
    const std::uint64_t at = position;
    SLUICE_CHECK(skip(size));
    extended = {};
    const bool regular = type == '0' || type == '\0' || type == '7';
    while (name.substr(0, 2) == "./")
      name.erase(0, 2);
    if (!regular || name.empty() || name.back() == '/') continue;
    if (name.size() > kMaxMemberName || name.find('\0') != name.npos)
      return wrong(at, fmt::format("a name of {} bytes; {} without NUL are accepted", name.size(),
                                   kMaxMemberName));
    return std::optional(
        TarMember{.name = std::move(name), .offset = at + kTarBlock, .size = size});
  }
}

TarScan::TarScan(ObjectStore& store, Object archive)
    : state_(new State{.store = store,
                       .archive = std::move(archive),
                       .window = std::max(kWindow, store.request_bytes())}) {}
TarScan::~TarScan() = default;
TarScan::TarScan(TarScan&&) noexcept = default;

Result<std::optional<TarMember>> TarScan::next() {
  return state_->next();
}

Result<std::string> TarScan::content(const TarMember& member) {
  if (member.size > kMaxContent)
    return state_->wrong(member.offset,
                         fmt::format("'{}' has {} bytes; {} are accepted of a label",
                                     printable(member.name), member.size, kMaxContent));
  SLUICE_TRY(const auto found, state_->bytes(member.offset, static_cast<std::size_t>(member.size)));
  return std::string(reinterpret_cast<const char*>(found.data()), found.size());
}

}  // namespace sluice::storage
