// sluice/storage/bucket_source.cpp - objects in the order of the plan, some pieces ahead of the one
// that is written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/bucket_source.h"

#include "sluice/core/text.h"
#include "sluice/storage/open_store.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <future>
#include <memory>
#include <unordered_map>

namespace sluice::storage {
namespace {

constexpr std::size_t kPiecesAhead = 16;
constexpr std::uint64_t kPieceBytes = std::uint64_t{8} << 20;

/// Of one object.
struct BucketPiece {
  const Object* object = nullptr;
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

/// What came of one, in memory that goes back when it was written.
struct FetchedPiece {
  std::unique_ptr<ReadBuffer> memory{};
  std::span<const std::byte> bytes{};
};

/// Pieces in their order, each fetched by a thread of its own while those before it are written.
class PiecesAhead {
 public:
  PiecesAhead(ObjectStore& store, std::deque<BucketPiece> pieces)
      : store_(store), left_(std::move(pieces)) {}
  ~PiecesAhead() {
    if (!fetched_.empty()) store_.cancel();  // or their threads would be waited for
  }
  PiecesAhead(const PiecesAhead&) = delete;
  PiecesAhead& operator=(const PiecesAhead&) = delete;

  /// In place of the one before. Precondition: there is one.
  Status next(FetchedPiece& piece) {
    if (piece.memory) spare_.push_back(std::move(piece.memory));
    piece = {};
    while (fetched_.size() < kPiecesAhead && !left_.empty()) {
      auto memory = std::make_unique<ReadBuffer>();
      if (!spare_.empty()) {
        memory = std::move(spare_.back());
        spare_.pop_back();
      }
      fetched_.push_back(std::async(std::launch::async, fetch, std::ref(store_), left_.front(),
                                    std::move(memory)));
      left_.pop_front();
    }
    auto first = std::move(fetched_.front());
    fetched_.pop_front();
    SLUICE_TRY(piece, first.get());
    return ok;
  }

 private:
  static Result<FetchedPiece> fetch(ObjectStore& store, BucketPiece piece,
                                    std::unique_ptr<ReadBuffer> memory) {
    SLUICE_TRY(const auto bytes, store.read(*piece.object, piece.offset, piece.size, *memory));
    return FetchedPiece{.memory = std::move(memory), .bytes = bytes};
  }

  ObjectStore& store_;
  std::deque<BucketPiece> left_;
  std::deque<std::future<Result<FetchedPiece>>> fetched_;
  std::vector<std::unique_ptr<ReadBuffer>> spare_;
};

class BucketSource final : public Source {
 public:
  BucketSource(const StageOptions& options, std::shared_ptr<ObjectStore> store)
      : options_(options), store_(std::move(store)) {}

  [[nodiscard]] std::uint64_t size() const override { return 0; }

  Result<StagePlan> list(Progress& progress) override {
    Planner planner(options_.filter, options_.limits, 0);
    Progress::Bar bar = progress.bar("list the bucket", 0, "objects");
    const Status listed = store_->list("", [&](std::span<const Object> page) -> Status {
      SLUICE_CHECK(not_stopped());
      for (const Object& object : page) {
        bar.add();
        if (object.key.empty() || object.key.back() == '/') continue;  // marks of folders
        ArchiveEntry entry;
        entry.type = EntryType::file;
        entry.name = object.key;
        entry.size = object.size;
        if (const Status status = planner.add(entry); !status) return named(status.error());
        objects_[object.key] = object;
      }
      return ok;
    });
    if (!listed) return listed.error();
    auto plan = planner.finish();
    if (!plan) return named(plan.error());
    return plan;
  }

  Status unpack(const StagePlan& plan, std::uint64_t count,
                const std::function<bool(const StageFile&)>& wanted,
                const std::function<Status(const StageFile&, const ReadBlock&)>& put) override {
    std::vector<const StageFile*> files;
    std::deque<BucketPiece> pieces;
    for (const StageFile& file : plan.files) {
      if (files.size() == count) break;
      if (!wanted(file)) continue;
      files.push_back(&file);
      const Object& object = objects_.at(file.name);
      for (std::uint64_t at = 0; at < file.size; at += kPieceBytes)
        pieces.push_back(
            {&object, at, static_cast<std::size_t>(std::min(kPieceBytes, file.size - at))});
    }
    PiecesAhead ahead(*store_, std::move(pieces));
    FetchedPiece piece;
    for (const StageFile* file : files) {
      std::size_t used = piece.bytes.size();  // of the piece: all that the file before left of it
      std::uint64_t left = file->size;
      const Status written = put(*file, [&](std::span<std::byte> out) -> Result<std::size_t> {
        SLUICE_CHECK(not_stopped());
        if (left == 0) return std::size_t{0};
        if (used == piece.bytes.size()) {
          SLUICE_CHECK(ahead.next(piece));
          used = 0;
        }
        const std::size_t bytes = std::min(out.size(), piece.bytes.size() - used);
        std::memcpy(out.data(), piece.bytes.data() + used, bytes);
        used += bytes;
        left -= bytes;
        return bytes;
      });
      if (!written) return written;
    }
    return ok;
  }

 private:
  Status not_stopped() const {
    if (options_.stop && options_.stop())
      return Error{Errc::interrupted, fmt::format("{}: stopped", store_->name())};
    return ok;
  }
  Error named(const Error& error) const {
    return {error.code, fmt::format("{}: {}", printable(store_->name()), error.message)};
  }

  const StageOptions& options_;
  std::shared_ptr<ObjectStore> store_;
  std::unordered_map<std::string, Object> objects_;  // by key, with the version that was listed
};

bool names_archive(const std::string& address) {
  constexpr std::array<const char*, 9> kSuffixes{
      ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](const char* suffix) { return address.ends_with(suffix); });
}

}  // namespace

bool is_bucket(const std::filesystem::path& from) {
  const std::string text = from.string();
  return text.starts_with("s3://") || text.starts_with("gs://");
}

Result<std::unique_ptr<Source>> open_bucket_source(const StageOptions& options) {
  const std::string address = options.from.string();
  SLUICE_CHECK(check_no_password("--from", address));
  if (names_archive(address))
    return Error{Errc::usage,
                 fmt::format("{}: of a bucket files are staged, not archives; copy it here first, "
                             "or unpack it there",
                             printable(address))};
  StoreOptions where;
  where.input = address;
  where.endpoint = options.endpoint;
  where.region = options.region;
  where.anonymous = options.anonymous;
  SLUICE_TRY(auto store, open_store(where));
  return std::unique_ptr<Source>(std::make_unique<BucketSource>(options, std::move(store)));
}

}  // namespace sluice::storage
