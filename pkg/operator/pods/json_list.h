// Lists inside a pod's JSON. Thread safety: a pure function.
#pragma once

#include "nlohmann/json.hpp"

namespace yardmaster::op {

// The list under the key; an empty one is put there in place of anything else.
inline nlohmann::json& ListAt(nlohmann::json& object, const char* key) {
  nlohmann::json& list = object[key];
  if (!list.is_array()) list = nlohmann::json::array();
  return list;
}

}  // namespace yardmaster::op
