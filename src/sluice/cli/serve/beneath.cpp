// sluice/cli/serve/beneath.cpp - component by component, by descriptors: nothing that is renamed
// meanwhile leads out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/serve/beneath.h"

#include "sluice/core/text.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace sluice::cli {

OpenedFile open_beneath(const std::filesystem::path& folder, std::string_view relative) {
  OpenedFile none;
  const std::vector<std::string> parts = split(relative, '/');
  if (parts.empty()) return none;
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i < parts.size() && at.open(); ++i) {
    if (parts[i].empty() || parts[i].front() == '.' || parts[i].find('\0') != std::string::npos)
      return none;
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;  // a FIFO must not hold us
    at.reset(::openat(at.get(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  struct stat about {};
  if (!at.open() || ::fstat(at.get(), &about) != 0 || !S_ISREG(about.st_mode)) return none;
  return {std::move(at), about.st_size};
}

}  // namespace sluice::cli
