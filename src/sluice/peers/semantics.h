// sluice/peers/semantics.h - do the libraries compute the same thing? Found from their outputs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::peers {

/// Rows, columns, channels interleaved; values in units of 0 to 255.
struct Picture {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<float> values;
};

/// What one library made of the same inputs: `outputs[item][draw]`.
struct Outputs {
  std::string library;
  std::vector<std::vector<Picture>> outputs;
  bool votes = true;  // ours and OpenCV's recipes follow the others, they do not define a transform
};

/// A measured comparison of two libraries.
struct Likeness {
  bool same = false;
  std::string reason;  // with figures; also when they are the same
};

/// Fixed outputs are compared pixel by pixel (interpolation and rounding may differ: 3 levels on
/// average). Drawn ones by shape and by the means over draws of brightness, contrast, distance from
/// the input and share of changed and of black pixels. A fixed and a drawn one are never the same.
Likeness compare_outputs(const std::vector<Picture>& inputs, const Outputs& a, const Outputs& b);

/// One transform: which libraries agree, and why the rest is not comparable.
struct Agreement {
  std::vector<std::string> agree;                // the group that is the measure
  std::map<std::string, std::string> different;  // library: how it differs from that group
  std::map<std::string, std::string> notes;      // library: "fixed" or "drawn", output shape
};

/// Libraries are grouped by likeness; the group with most votes is the measure. Where no two agree,
/// none can be compared and all are different.
Agreement agreement(const std::vector<Picture>& inputs, const std::vector<Outputs>& libraries);

Json to_json(const Agreement& agreement);
Result<Agreement> agreement_from_json(const Json& json, const std::string& name);

/// The audit that ships with the adapters: {scenario: {transform: Agreement}}. Under
/// "<scenario>/pipeline" stand transforms of which the crop before them makes something else.
class Audit {
 public:
  static Result<Audit> read(const std::string& text, const std::string& name);
  /// Why rows of this library cannot be compared with the others; empty when they can, or when
  /// nothing is known.
  [[nodiscard]] std::string not_comparable(const std::string& scenario,
                                           const std::string& transform, const std::string& library,
                                           const std::string& mode = "micro") const;
  [[nodiscard]] const std::map<std::string, std::map<std::string, Agreement>>& scenarios() const {
    return scenarios_;
  }
  /// In the order of the document.
  [[nodiscard]] const std::vector<std::string>& scenario_names() const { return names_; }
  [[nodiscard]] const std::string& pictures() const { return pictures_; }
  [[nodiscard]] std::int64_t draws() const { return draws_; }

 private:
  std::string pictures_;  // what the libraries were run on
  std::int64_t draws_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, std::map<std::string, Agreement>> scenarios_;
};

/// The audit in a file; nothing when there is no such file.
Result<std::optional<Audit>> read_audit(const std::filesystem::path& path);

/// docs/semantics.md.
std::string semantics_page(const Audit& audit);

}  // namespace sluice::peers
