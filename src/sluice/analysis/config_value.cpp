// sluice/analysis/config_value.cpp - reads run_config, which another version may have written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/config_value.h"

namespace sluice::analysis {
namespace {

const Json* member(const Json* json, const char* key) {
  if (json == nullptr || !json->is_object()) return nullptr;
  const auto value = json->find(key);
  return value == json->end() || value->is_null() ? nullptr : &*value;
}

}  // namespace

const Json* config_value(const results::ResultFile& file, const char* section, const char* key) {
  return member(member(&file.run_config, section), key);
}

std::string config_text(const results::ResultFile& file, const char* section, const char* key,
                        const char* otherwise) {
  const Json* value = config_value(file, section, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : otherwise;
}

std::string device_of(const results::ResultFile& file) {
  return file.matrix && file.matrix->device ? *file.matrix->device : run_device_of(file);
}

std::string run_device_of(const results::ResultFile& file) {
  return config_text(file, "execution", "device", "none");
}

}  // namespace sluice::analysis
