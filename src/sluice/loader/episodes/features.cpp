// sluice/loader/episodes/features.cpp - reads features.json: one leaf after the other.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/features.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace sluice::loader::episodes {
namespace {

constexpr std::size_t kMaxFeatures = 10'000;
constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;

/// "-1" or -1: protobuf's JSON writes 64-bit numbers as text.
std::optional<std::int64_t> whole_number(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const Json* member(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

std::string text_of(const Json& json, const char* key) {
  const Json* found = member(json, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

class Walk {
 public:
  Walk(FeatureTable& table, std::string_view where) : table_(table), where_(where) {}

  /// `sequences` and `in_steps` of what holds it.
  Status node(const std::string& name, const Json& json, int sequences, bool in_steps) {
    if (const Json* dictionary = member(json, "featuresDict"))
      return entries(name, *dictionary, sequences, in_steps);
    if (const Json* sequence = member(json, "sequence")) {
      const Json* inner = member(*sequence, "feature");
      if (inner == nullptr) return bad(name, "a sequence of nothing");
      return node(name, *inner, sequences + 1, in_steps || name == "steps");
    }
    return leaf(name, json, sequences, in_steps);
  }

 private:
  [[nodiscard]] Error bad(std::string_view name, std::string_view what) const {
    return {Errc::invalid_input,
            fmt::format("{}: feature '{}': {}", where_, printable(name), what)};
  }

  Status entries(const std::string& name, const Json& dictionary, int sequences, bool in_steps) {
    const Json* features = member(dictionary, "features");
    if (features == nullptr) return ok;  // an empty dictionary
    if (!features->is_object()) return bad(name, "'features' is no dictionary");
    for (const auto& [key, value] : features->items())
      SLUICE_CHECK(node(name.empty() ? key : name + "/" + key, value, sequences, in_steps));
    return ok;
  }

  Status leaf(const std::string& name, const Json& json, int sequences, bool in_steps) {
    FeatureSpec spec{.name = name, .sequences = sequences, .in_steps = in_steps};
    const std::string python = text_of(json, "pythonClassName");
    spec.class_name = python.substr(python.rfind('.') + 1);
    if (const Json* image = member(json, "image")) {
      spec.type = FeatureType::image;
      SLUICE_CHECK(typed(spec, *image, "uint8"));
      const std::string codec = text_of(*image, "encodingFormat");
      if (codec == "jpeg") spec.encoding = Encoding::jpeg;
      if (codec == "png") spec.encoding = Encoding::png;
    } else if (const Json* tensor = member(json, "tensor")) {
      spec.type = FeatureType::tensor;
      SLUICE_CHECK(typed(spec, *tensor, ""));
      const std::string encoding = text_of(*tensor, "encoding");
      if (encoding == "bytes") spec.encoding = Encoding::bytes;
      if (encoding == "zlib") spec.encoding = Encoding::zlib;
      if (!encoding.empty() && encoding != "none" && spec.encoding == Encoding::none)
        return bad(
            name, fmt::format("encoding '{}'; none, bytes and zlib are read", printable(encoding)));
    } else if (member(json, "text") != nullptr) {
      spec.type = FeatureType::text;
      spec.dtype = "string";
    } else if (member(json, "classLabel") != nullptr) {
      spec.type = FeatureType::label;
      spec.dtype = "int64";
    }
    if (table_.specs.size() >= kMaxFeatures)
      return bad(name, fmt::format("more than {} features", kMaxFeatures));
    table_.specs.push_back(std::move(spec));
    return ok;
  }

  Status typed(FeatureSpec& spec, const Json& json, const char* absent) {
    spec.dtype = text_of(json, "dtype");
    if (spec.dtype.empty()) spec.dtype = absent;
    const Json* shape = member(json, "shape");
    const Json* dimensions = shape == nullptr ? nullptr : member(*shape, "dimensions");
    if (dimensions == nullptr) return ok;
    if (!dimensions->is_array() || dimensions->size() > 16)
      return bad(spec.name, "its shape is no list of at most 16 numbers");
    for (const Json& dimension : *dimensions) {
      const auto value = whole_number(dimension);
      if (!value || *value < -1 || *value > kMaxDimension)
        return bad(spec.name,
                   fmt::format("dimension {} of its shape", printable(dump_json(dimension, -1))));
      spec.shape.push_back(*value);
    }
    return ok;
  }

  FeatureTable& table_;
  std::string_view where_;
};

}  // namespace

Error bad_feature(const FeatureSpec& spec, std::string_view what) {
  return {Errc::invalid_input, fmt::format("feature {}: {}", printable(spec.name), what)};
}

const char* to_string(FeatureType type) {
  constexpr std::array kNames = {"image", "tensor", "text", "label", "other"};
  return kNames[static_cast<std::size_t>(type)];
}

const char* to_string(Encoding encoding) {
  constexpr std::array kNames = {"none", "bytes", "zlib", "jpeg", "png"};
  return kNames[static_cast<std::size_t>(encoding)];
}

bool FeatureSpec::with_shape() const {
  return type == FeatureType::tensor && encoding != Encoding::none &&
         std::count(shape.begin(), shape.end(), -1) > 1;
}

storage::ListKind FeatureSpec::list() const {
  if (type == FeatureType::image || type == FeatureType::text || encoding != Encoding::none ||
      dtype == "string" || dtype == "object")
    return storage::ListKind::bytes;
  if (type == FeatureType::label) return storage::ListKind::ints;
  if (type != FeatureType::tensor) return storage::ListKind::none;
  if (dtype.find("float") != std::string::npos) return storage::ListKind::floats;  // bfloat16 too
  if (dtype == "bool" || dtype.find("int") != std::string::npos) return storage::ListKind::ints;
  return storage::ListKind::none;
}

std::optional<std::uint64_t> FeatureSpec::values() const {
  if (type == FeatureType::image || type == FeatureType::text || encoding != Encoding::none)
    return 1;
  std::uint64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(dimension);
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) return std::nullopt;
    count *= size;
  }
  return count;
}

std::optional<std::size_t> FeatureTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == name) return i;
  return std::nullopt;
}

Result<std::size_t> FeatureTable::require(std::string_view name) const {
  if (const auto found = find(name)) return *found;
  std::vector<std::string> names;
  for (const FeatureSpec& spec : specs)
    names.push_back(spec.name);
  const auto near = nearest(name, names);
  return Error{Errc::invalid_input,
               fmt::format("no feature '{}'; {}", printable(name),
                           near ? fmt::format("did you mean '{}'?", printable(*near))
                                : fmt::format("there are {}", printable(join(names))))};
}

Result<FeatureTable> parse_features(std::string_view text, std::string_view where) {
  SLUICE_TRY(const Json json, parse_json(text, where));
  const Json* dictionary = member(json, "featuresDict");
  const Json* features = dictionary == nullptr ? nullptr : member(*dictionary, "features");
  const Json* steps = features == nullptr ? nullptr : member(*features, "steps");
  if (steps == nullptr || member(*steps, "sequence") == nullptr)
    return Error{
        Errc::invalid_input,
        fmt::format("{}: no sequence 'steps' among its features: these are no episodes", where)};
  FeatureTable table;
  SLUICE_CHECK(Walk(table, where).node("", json, 0, false));
  return table;
}

}  // namespace sluice::loader::episodes
