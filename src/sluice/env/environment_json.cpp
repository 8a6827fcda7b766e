// sluice/env/environment_json.cpp - Environment to env.json and back, from one list of fields.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/env/environment.h"

#include <fmt/format.h>

#include <type_traits>

namespace sluice::env {
namespace {

// The list of fields: read by Writer and Reader, in the order of the file.
template <class V, class T>
void visit_fields(V& v, T& x) {
  using S = std::remove_const_t<T>;
  if constexpr (std::is_same_v<S, Cpu>) {
    v("architecture", x.architecture), v("vendor", x.vendor), v("model_name", x.model_name);
    v("family", x.family), v("model", x.model), v("stepping", x.stepping);
    v("microcode", x.microcode), v("implementer", x.implementer), v("part", x.part);
    v("variant", x.variant), v("revision", x.revision), v("isa", x.isa), v("flags", x.flags);
    v("l1d_bytes", x.l1d_bytes), v("l1i_bytes", x.l1i_bytes);
    v("l2_bytes", x.l2_bytes), v("l3_bytes", x.l3_bytes);
  } else if constexpr (std::is_same_v<S, Cores>) {
    v("visible", x.visible), v("affinity", x.affinity), v("in_affinity", x.in_affinity);
    v("quota", x.quota), v("usable", x.usable), v("smt", x.smt), v("numa_nodes", x.numa_nodes);
  } else if constexpr (std::is_same_v<S, Frequency>) {
    v("governor", x.governor), v("driver", x.driver), v("min_khz", x.min_khz);
    v("max_khz", x.max_khz), v("turbo", x.turbo);
  } else if constexpr (std::is_same_v<S, Memory>) {
    v("total_bytes", x.total_bytes), v("available_bytes", x.available_bytes);
    v("swap_total_bytes", x.swap_total_bytes), v("swap_free_bytes", x.swap_free_bytes);
    v("cgroup_limit_bytes", x.cgroup_limit_bytes);
  } else if constexpr (std::is_same_v<S, Host>) {
    v("kernel", x.kernel), v("distribution", x.distribution), v("container", x.container);
    v("virtualisation", x.virtualisation);
  } else if constexpr (std::is_same_v<S, Storage>) {
    v("filesystem", x.filesystem), v("kind", x.kind), v("device", x.device);
    v("rotational", x.rotational);
  } else if constexpr (std::is_same_v<S, Gpu>) {
    v("index", x.index), v("visible", x.visible), v("name", x.name);
    v("memory_bytes", x.memory_bytes), v("compute_capability", x.compute_capability);
    v("sm_clock_mhz", x.sm_clock_mhz), v("max_sm_clock_mhz", x.max_sm_clock_mhz);
    v("max_memory_clock_mhz", x.max_memory_clock_mhz), v("power_limit_w", x.power_limit_w);
    v("ecc", x.ecc), v("mig", x.mig), v("persistence", x.persistence);
  } else if constexpr (std::is_same_v<S, Gpus>) {
    v("driver_version", x.driver_version), v("cuda_version", x.cuda_version);
    v("devices", x.devices);
  } else if constexpr (std::is_same_v<S, Git>) {
    v("sha", x.sha), v("dirty", x.dirty);
  } else if constexpr (std::is_same_v<S, Build>) {
    v("version", x.version), v("compiler", x.compiler), v("flags", x.flags);
    v("build_type", x.build_type), v("highway", x.highway);
    v("highway_target", x.highway_target), v("git", x.git);
  } else {
    static_assert(std::is_same_v<S, Environment>, "no list of fields for this type");
    v("timestamp", x.timestamp), v("cpu", x.cpu), v("cores", x.cores);
    v("frequency", x.frequency), v("memory", x.memory), v("host", x.host);
    v("storage", x.storage), v("gpu", x.gpu), v("build", x.build), v("git", x.git);
    v("variables", x.variables);
  }
}

template <class T>
constexpr bool is_plain = std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                          std::is_same_v<T, std::vector<std::string>> ||
                          std::is_same_v<T, std::map<std::string, std::string>>;

std::string child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

class Writer {
 public:
  Writer(Json& unknown, std::string path) : unknown_(unknown), path_(std::move(path)) {}
  Json object = Json::object();

  template <class T>
  void operator()(const char* key, const Known<T>& field) {
    object[key] = field ? Json(*field) : Json(nullptr);
    if (!field) unknown_[child(path_, key)] = field.reason;
  }
  void operator()(const char* key, const std::vector<Gpu>& fields) {
    object[key] = Json::array();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      Writer inner(unknown_, child(path_, fmt::format("{}.{}", key, i)));
      visit_fields(inner, fields[i]);
      object[key].push_back(std::move(inner.object));
    }
  }
  template <class T>
  void operator()(const char* key, const T& field) {
    if constexpr (is_plain<T>) {
      object[key] = field;
    } else {
      Writer inner(unknown_, child(path_, key));
      visit_fields(inner, field);
      object[key] = std::move(inner.object);
    }
  }

 private:
  Json& unknown_;
  std::string path_;
};

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_integral_v<T>) {
    return "a whole number";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return "a number";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return "a list of texts";
  } else {
    return "an object of texts";
  }
}

template <class T>
bool has_type(const Json& json) {
  const auto all_text = [&] {
    for (const auto& item : json) {
      if (!item.is_string()) return false;
    }
    return true;
  };
  if constexpr (std::is_same_v<T, bool>) {
    return json.is_boolean();
  } else if constexpr (std::is_integral_v<T>) {
    return json.is_number_integer();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return json.is_number();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return json.is_string();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return json.is_array() && all_text();
  } else {
    return json.is_object() && all_text();
  }
}

// Keeps the first complaint; after it, fields are left as they are.
class Reader {
 public:
  Reader(const Json& object, const Json& unknown, std::string path, std::string& complaint)
      : object_(object), unknown_(unknown), path_(std::move(path)), complaint_(complaint) {}

  template <class T>
  void operator()(const char* key, Known<T>& field) {
    const Json* json = find(key);
    if (json == nullptr) return;
    if (json->is_null()) {
      const auto reason = unknown_.find(child(path_, key));
      field = Known<T>::unknown(reason != unknown_.end() && reason->is_string()
                                    ? reason->template get<std::string>()
                                    : "no reason recorded");
    } else if (has_type<T>(*json)) {
      field = json->get<T>();
    } else {
      complain(key, std::string(type_name<T>()) + " or null");
    }
  }
  void operator()(const char* key, std::vector<Gpu>& fields) {
    const Json* json = find(key);
    if (json == nullptr) return;
    if (!json->is_array()) return complain(key, "a list");
    fields.assign(json->size(), Gpu{});
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string name = fmt::format("{}.{}", key, i);
      if (!(*json)[i].is_object()) return complain(name, "an object");
      Reader inner((*json)[i], unknown_, child(path_, name), complaint_);
      visit_fields(inner, fields[i]);
    }
  }
  template <class T>
  void operator()(const char* key, T& field) {
    const Json* json = find(key);
    if (json == nullptr) return;
    if constexpr (is_plain<T>) {
      if (!has_type<T>(*json)) return complain(key, type_name<T>());
      field = json->get<T>();
    } else {
      if (!json->is_object()) return complain(key, "an object");
      Reader inner(*json, unknown_, child(path_, key), complaint_);
      visit_fields(inner, field);
    }
  }

 private:
  const Json* find(const char* key) {
    if (!complaint_.empty()) return nullptr;
    const auto it = object_.find(key);
    if (it != object_.end()) return &*it;
    complaint_ = fmt::format("key '{}' is missing", child(path_, key));
    return nullptr;
  }
  void complain(std::string_view key, std::string_view accepted) {
    if (complaint_.empty()) {
      complaint_ = fmt::format("key '{}' must be {}", child(path_, key), accepted);
    }
  }

  const Json& object_;
  const Json& unknown_;
  std::string path_;
  std::string& complaint_;
};

Error invalid(const std::string& name, std::string_view complaint) {
  return Error{Errc::invalid_input, fmt::format("{}: {}", printable(name), complaint)};
}

}  // namespace

Json to_json(const Environment& environment) {
  Json unknown = Json::object();
  Writer writer(unknown, "");
  writer("schema_version", environment.schema_version);
  visit_fields(writer, environment);
  writer.object["unknown"] = std::move(unknown);
  return std::move(writer.object);
}

Result<Environment> from_json(const Json& json, const std::string& name) {
  if (!json.is_object()) return invalid(name, "not an environment: a JSON object is expected");
  const auto version = json.find("schema_version");
  if (version == json.end() || !version->is_number_integer()) {
    return invalid(name, "key 'schema_version' must be a whole number");
  }
  Environment environment;
  const auto number = version->get<std::int64_t>();
  if (number < 1 || number > kEnvSchemaVersion) {
    return invalid(name, fmt::format("schema_version {} is not one this program reads (1 to {})",
                                     number, kEnvSchemaVersion));
  }
  environment.schema_version = static_cast<int>(number);
  const auto unknown = json.find("unknown");
  const Json none = Json::object();
  std::string complaint;
  Reader reader(json, unknown != json.end() && unknown->is_object() ? *unknown : none, "",
                complaint);
  visit_fields(reader, environment);
  if (!complaint.empty()) return invalid(name, complaint);
  return environment;
}

Status save(const std::filesystem::path& path, const Environment& environment,
            const std::string& machine_profile) {
  Json json = Json::object();
  json["schema_version"] = environment.schema_version;
  json["machine_profile"] = machine_profile;
  json.update(to_json(environment));
  return write_file_atomic(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace sluice::env
