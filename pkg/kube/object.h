// Reading the few fields that every Kubernetes object has. All readers take any JSON at all and
// give an empty answer for what is missing or of another type, so that a strange object is never a
// crash. Thread safety: pure functions.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"

#include "pkg/json/json_view.h"

namespace yardmaster::kube {

// A whole document, for the few objects that are read outside of a cache.
using ObjectPtr = std::shared_ptr<const nlohmann::json>;

// The value at a path of object keys, or null.
const nlohmann::json* FindAt(const nlohmann::json& object,
                             std::initializer_list<std::string_view> path);
// The string at a path, or "".
std::string StringAt(JsonView object, std::initializer_list<std::string_view> path);

std::string NameOf(JsonView object);
std::string NamespaceOf(JsonView object);
std::string UidOf(JsonView object);
std::string ResourceVersionOf(JsonView object);
// "ns/name", or "name" for a cluster-scoped object: the key of stores and work queues.
std::string KeyOf(JsonView object);
std::string MakeKey(std::string_view ns, std::string_view name);

}  // namespace yardmaster::kube
