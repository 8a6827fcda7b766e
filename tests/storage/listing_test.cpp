// tests/storage/listing_test.cpp - folders are listed as by a plain walk: random trees, links,
// every kind of record the system may give, sizes at once or later, folders that cannot be read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/storage/local/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::storage::listing_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Found = std::vector<std::pair<std::string, std::uint64_t>>;  // keys and sizes
using ReadEntries = decltype(ListOptions::read_entries);

void make_file(const fs::path& path, std::size_t size) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0) << path;
  ::close(file);
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// What a listing means: every name is looked at, and all are sorted in the end.
void walk(std::map<std::string, std::uint64_t>& found, const fs::path& root, const std::string& key,
          std::vector<std::pair<dev_t, ino_t>> above) {
  struct stat status {};
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir((root / key).c_str()));
  if (!folder) return;
  ASSERT_EQ(::fstat(::dirfd(folder.get()), &status), 0);
  const auto here = std::make_pair(status.st_dev, status.st_ino);
  if (std::find(above.begin(), above.end(), here) != above.end()) return;
  above.push_back(here);
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name.front() == '.' || ::stat((root / (key + name)).c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode)) found[key + name] = static_cast<std::uint64_t>(status.st_size);
    if (S_ISDIR(status.st_mode)) walk(found, root, key + name + "/", above);
  }
}

Found plain_listing(const fs::path& root, const std::string& prefix) {
  std::map<std::string, std::uint64_t> all;
  walk(all, root, prefix.substr(0, prefix.rfind('/') + 1), {});
  Found found;
  for (const auto& [key, size] : all)
    if (key.starts_with(prefix)) found.emplace_back(key, size);
  return found;
}

/// As the system, in pieces of at most `bytes`; `change` may alter each record.
ReadEntries reader(std::size_t bytes, std::function<void(dirent64&)> change) {
  return [=](int folder, std::span<std::byte> out) -> ssize_t {
    const ssize_t got = ::getdents64(folder, out.data(), std::min(bytes, out.size()));
    for (ssize_t at = 0; at < got;) {
      auto* const entry = reinterpret_cast<dirent64*>(out.data() + at);
      change(*entry);
      at += entry->d_reclen;
    }
    return got;
  };
}
void unknown_type(dirent64& entry) {
  entry.d_type = DT_UNKNOWN;
}

class ListingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(set_);
    root_ = ::open(set_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(root_, 0);
  }
  void TearDown() override { ::close(root_); }

  Result<Found> list(
      const ListOptions& options, const std::function<bool()>& stop = [] { return false; }) const {
    Found found;
    const Status listed = list_folder(
        root_, "set", options,
        [&](std::span<const Object> objects) -> Status {
          for (const Object& object : objects)
            found.emplace_back(object.key, object.size);
          return ok;
        },
        stop);
    if (!listed) return listed.error();
    return found;
  }
  std::string error_of(const ListOptions& options) const {
    const auto found = list(options);
    return found ? "" : found.error().message;
  }
  void put(const std::string& name, std::size_t size = 1) const {
    fs::create_directories((set_ / name).parent_path());
    make_file(set_ / name, size);
  }

  testing_support::TemporaryFolder folder_;
  fs::path set_ = folder_ / "set";  // ".." leads to nothing else
  int root_ = -1;
};

/// Folders, files, links of all kinds, pipes; names that share beginnings of any length.
class RandomTree {
 public:
  RandomTree(const fs::path& root, std::uint64_t seed) : rng_({.seed = seed}) {
    fill(root, root, 0);
  }

 private:
  std::string name() {
    static constexpr const char* kParts[] = {"a",    "b",        "-",        ".",          "0",
                                             "A",    "~",        " ",        "\n",         "\xff",
                                             "\xc3", "\x80\x81", "n0144076", "image-00000"};
    std::string text;
    for (int i = rng_.between(1, 4); i > 0; --i)
      text += kParts[rng_.below(std::size(kParts))];
    return text == "." || text == ".." ? "a" : text;
  }

  void fill(const fs::path& root, const fs::path& folder, int depth) {
    const bool common = rng_.below(2) == 0;
    for (int i = rng_.between(0, depth == 0 ? 30 : 12); i > 0; --i) {
      const fs::path path = folder / ((common ? "shared-name-" : "") + name());
      std::error_code code;
      if (fs::exists(fs::symlink_status(path, code))) continue;
      const std::uint64_t kind = rng_.below(20);
      if (kind < 5 && depth < 4) {
        fs::create_directory(path);
        fill(root, path, depth + 1);
      } else if (kind == 5) {
        fs::create_symlink(made_.empty() ? "." : made_[rng_.below(made_.size())], path);
      } else if (kind == 6) {
        fs::create_symlink(rng_.below(2) == 0 ? ".." : "nowhere", path);
      } else if (kind == 7) {
        fs::create_symlink(path.filename(), path);  // to itself
      } else if (kind == 8) {
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
      } else {
        make_file(path, rng_.below(50));
      }
      made_.push_back(path);
    }
  }

  Rng rng_;
  std::vector<fs::path> made_;
};

TEST_F(ListingTest, RandomTreesAreListedAsByAPlainWalk) {
  const ReadEntries readers[] = {{},
                                 reader(64 << 10, unknown_type),
                                 reader(512, [](dirent64&) {}),
                                 reader(2048, [n = std::make_shared<int>(0)](dirent64& entry) {
                                   if (++*n % 3 == 0) entry.d_type = DT_UNKNOWN;
                                 })};
  std::size_t keys = 0, later = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const auto& entry : fs::directory_iterator(set_))
      fs::remove_all(entry.path());
    ASSERT_NO_FATAL_FAILURE(RandomTree(set_, seed));
    std::vector<std::string> prefixes = {"", "a", "shared-name-", "\xff", "none/a"};
    const Found all = plain_listing(set_, "");
    for (std::size_t i = seed; i < all.size(); i += 1 + all.size() / 3) {
      const std::string& key = all[i].first;
      for (const std::size_t cut : {key.size() / 2, key.rfind('/') + 1})
        prefixes.push_back(key.substr(0, cut));
    }
    for (const std::string& prefix : prefixes) {
      const Found expected = plain_listing(set_, prefix);
      keys += expected.size();
      for (const ReadEntries& read : readers) {
        if (!prefix.empty() && &read != &readers[keys % std::size(readers)]) continue;
        for (const bool sizes : {true, false}) {
          const auto found = list({.prefix = prefix, .sizes = sizes, .read_entries = read});
          ASSERT_TRUE(found) << found.error().message;
          ASSERT_EQ(found->size(), expected.size()) << "prefix '" << prefix << "'";
          for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ((*found)[i].first, expected[i].first);
            const bool unknown = !sizes && (*found)[i].second == kSizeUnknown;
            later += unknown;
            ASSERT_EQ((*found)[i].second, unknown ? kSizeUnknown : expected[i].second);
          }
        }
      }
    }
  }
  EXPECT_GT(keys, 1000U);
  EXPECT_GT(later, 1000U);
}

TEST_F(ListingTest, NamesThatDifferLateAreInOrder) {
  const std::string common(200, 'n');
  for (const char* end : {"", "0", "00000000", "000000001", "0000000010", "00000001", "\xff\xff",
                          "12345678\xc3", "12345678a", "123456789"})
    put(common + end);
  const auto found = list({.sizes = false});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 10U);
  const Found expected = plain_listing(set_, "");
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((*found)[i].first, expected[i].first);
}

TEST_F(ListingTest, WithoutSizesOnlyOneFileOfAFolderIsLookedAt) {
  for (const char* name : {"a/1", "a/2", "a/3", "b/1", "b/2"})
    put(name, 7);
  fs::create_symlink("1", set_ / "b" / "link");
  const auto found = list({.sizes = false});
  ASSERT_TRUE(found);
  std::map<std::string, int> known;
  for (const auto& [key, size] : *found) {
    if (size == kSizeUnknown) continue;
    EXPECT_EQ(size, 7U);
    ++known[key.substr(0, 1)];
    if (key == "b/link") known["link"] = 1;
  }
  EXPECT_EQ(known["link"], 1) << "where a link leads is not known without a look";
  EXPECT_EQ(known["a"], 1);
  EXPECT_THAT(known["b"], ::testing::AnyOf(1, 2));
  const auto all = list({.sizes = false, .read_entries = reader(4096, unknown_type)});
  ASSERT_TRUE(all);
  EXPECT_THAT(*all, ElementsAre(Pair("a/1", 7), Pair("a/2", 7), Pair("a/3", 7), Pair("b/1", 7),
                                Pair("b/2", 7), Pair("b/link", 7)));
}

TEST_F(ListingTest, AFolderThatMayNotBeReadOrEnteredIsAnErrorThatNamesIt) {
  put("open/a.jpg");
  put("shut/a.jpg");
  put("shut/b.jpg");
  const uid_t self = ::geteuid();
  const uid_t other = self == 0 ? 65534 : self;  // root may read everything
  ASSERT_EQ(::chmod(set_.c_str(), 0755), 0);
  for (const auto& [mode, error] :
       {std::pair(0000, "set/shut/: cannot be listed: Permission denied"),
        std::pair(0444, ".jpg: cannot be listed: Permission denied"), std::pair(0755, "")}) {
    ASSERT_EQ(::chmod((set_ / "shut").c_str(), static_cast<mode_t>(mode)), 0);
    for (const bool sizes : {true, false}) {
      ASSERT_EQ(::seteuid(other), 0);
      const std::string said = error_of({.sizes = sizes});
      ASSERT_EQ(::seteuid(self), 0);
      EXPECT_THAT(said, HasSubstr(error)) << std::oct << mode << (sizes ? "" : " without sizes");
      EXPECT_EQ(said.empty(), mode == 0755);
    }
  }
}

TEST_F(ListingTest, AnErrorOfTheSystemEndsItAndAFolderRemovedMeanwhileIsEmpty) {
  put("a/1.jpg");
  put("b/2.jpg");
  int calls = 0;
  const auto failing = [&](int error) {
    return [&calls, error](int folder, std::span<std::byte> out) -> ssize_t {
      if (++calls <= 2) return ::getdents64(folder, out.data(), out.size());  // of the root
      errno = error;
      return -1;
    };
  };
  EXPECT_EQ(error_of({.read_entries = failing(EIO)}),
            "set/a/: cannot be listed: Input/output error");
  calls = 0;
  const auto found = list({.read_entries = failing(ENOENT)});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST_F(ListingTest, ItCanBeStoppedInTheMiddleOfAFolder) {
  for (int i = 0; i < 1100; ++i)
    make_file(set_ / std::to_string(i), 0);
  int looks = 0;
  const auto all = list({.sizes = false}, [&] { return ++looks < 0; });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 1100U);
  const int pages = 2;
  const int last = looks - pages;
  looks = 0;
  const auto found = list({.sizes = false}, [&] { return ++looks == last; });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::interrupted);
}

}  // namespace
}  // namespace sluice::storage::listing_test
