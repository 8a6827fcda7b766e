// sluice/plan/exclusions.h - rows known not to work on a device, and labels that rows must carry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/plan/matrix.h"

#include <string_view>
#include <vector>

namespace sluice::plan {

/// A row that is not attempted: `unsupported`, or `skipped` where the attempt would poison the
/// device for the rows after it. Everything else is attempted, a crash included (it costs its row
/// only), and what the library then says is the reason.
struct Exclusion {
  std::string_view library;
  std::vector<std::string_view> transforms;
  std::vector<std::string_view> scenarios;
  std::vector<Mode> modes;
  std::string_view device;  // "none": on the host; "gpu": on any device
  measure::RowStatus status;
  std::string_view reason;
};

/// How a library does its work in a regime, where a reader of the table has to know.
struct Label {
  std::string_view library;
  std::vector<std::string_view> scenarios;
  Mode mode;
  std::string_view device;  // as above, or "any"
  std::string_view text;
};

const std::vector<Exclusion>& exclusions();
const Exclusion* find_exclusion(std::string_view library, std::string_view transform,
                                std::string_view scenario, Mode mode, std::string_view device);
const std::vector<Label>& labels();
std::vector<std::string> labels_of(std::string_view library, std::string_view scenario, Mode mode,
                                   std::string_view device);

}  // namespace sluice::plan
