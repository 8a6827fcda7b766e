// sluice/config/from_json.cpp - one case per type of JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/from_json.h"

namespace sluice::config {

Node from_json(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      Node map = Node::map();
      for (const auto& [key, value] : json.items())
        map.set(key, from_json(value));
      return map;
    }
    case Json::value_t::array: {
      Node list = Node::list();
      for (const Json& value : json)
        list.push(from_json(value));
      return list;
    }
    case Json::value_t::boolean:
      return Node::of(json.get<bool>());
    case Json::value_t::number_integer:
      return Node::of(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return Node::of(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return Node::of(json.get<double>());
    case Json::value_t::string:
      return Node::of(std::string_view(json.get_ref<const std::string&>()));
    default:
      return {};
  }
}

}  // namespace sluice::config
