// sluice/peers/library.h - the libraries that can be measured: one record each, read by every list,
// check and launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::peers {

/// How a library is measured in one mode.
struct Way {
  std::string_view mode;   // "micro", "jpeg", "pipeline", "decode" (of video), "loader", "training"
                           // or "mixture"
  std::string_view group;  // of requirements; empty: a native program
  std::string_view program;  // a file under adapters/python; of a native one its name
};

struct Library {
  std::string_view name;      // row.library
  std::string_view title;     // as its authors write it
  std::string_view package;   // distribution whose version counts; empty: the program's own
  std::string_view homepage;  // for people
  std::string_view licence;   // SPDX expression
  bool needs_gpu = false;
  std::string_view machine = {};  // the only processor it is published for, as `uname -m` says it;
                                  // empty: any of ours
  std::vector<Way> ways;  // in the order micro, jpeg, pipeline, decode, loader, training, mixture

  /// Null when it is not measured in this mode.
  [[nodiscard]] const Way* way(std::string_view mode) const;
  /// Of its first way, the one `peers install` is for; empty for a native program.
  [[nodiscard]] std::string_view home_group() const;
};

/// In the order of tables: ours first.
std::span<const Library> libraries();
/// Null when there is no such library.
const Library* find_library(std::string_view name);
/// "cykooz-resizer has no package for aarch64, only for x86_64"; empty when it runs on `machine`.
std::string no_package(const Library& library, std::string_view machine);
/// An error that names the nearest library.
Result<const Library*> require_library(std::string_view name);

/// The names of requirement groups: one file, one environment each.
std::span<const std::string_view> groups();
/// Further groups that only tests need: nothing is measured with them, and `all` leaves them out.
std::span<const std::string_view> test_groups();
/// Of either kind.
bool is_group(std::string_view name);
/// Those with a way in `group`, in the order of libraries().
std::vector<const Library*> libraries_of_group(std::string_view group);

/// What selecting `name` measures: `opencv` is the C++ worker and the wheel, any other is itself.
std::vector<std::string> rows_of_library(std::string_view name);

}  // namespace sluice::peers
