// sluice/cli/session_config.cpp - the resolved configuration of a session as YAML.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/session.h"
#include "sluice/config/emit.h"
#include "sluice/config/node.h"

namespace sluice::cli {
namespace {

config::Node to_node(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      config::Node map = config::Node::map();
      for (const auto& [key, value] : json.items())
        map.set(key, to_node(value));
      return map;
    }
    case Json::value_t::array: {
      config::Node list = config::Node::list();
      for (const Json& value : json)
        list.push(to_node(value));
      return list;
    }
    case Json::value_t::boolean:
      return config::Node::of(json.get<bool>());
    case Json::value_t::number_integer:
      return config::Node::of(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return config::Node::of(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return config::Node::of(json.get<double>());
    case Json::value_t::string:
      return config::Node::of(std::string_view(json.get_ref<const std::string&>()));
    default:
      return {};
  }
}

}  // namespace

std::string to_yaml(const Json& config) {
  return config::to_yaml(to_node(config));
}

}  // namespace sluice::cli
