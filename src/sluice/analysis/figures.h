// sluice/analysis/figures.h - the figures of a result file's metrics and summary, read for text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <string>

namespace sluice::analysis {

/// Printable; empty where it is missing or no text.
std::string text_at(const Json& json, const char* key);
/// NaN where it is missing or no number.
double number_at(const Json& json, const char* key);
/// The metric times `scale` by `format`, or "n/a (reason)" with the reason beside it.
std::string shown(const Json& metrics, const std::string& key, const char* format,
                  double scale = 1);
/// Targets or indicators, one line each with ✓, ✗ or –; empty without any.
std::string checks(const Json& list, const char* heading);

}  // namespace sluice::analysis
