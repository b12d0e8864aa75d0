// Reading Kubernetes objects held as JSON: the few fields every type has. All readers take any
// JSON at all and give an empty answer for what is missing or of another type, so that a strange
// object is never a crash. Thread safety: pure functions.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::kube {

// Objects are shared and never changed once they are in a store or have been handed to a handler.
using ObjectPtr = std::shared_ptr<const nlohmann::json>;

// The value at a path of object keys, or null.
const nlohmann::json* FindAt(const nlohmann::json& object,
                             std::initializer_list<std::string_view> path);
// The string at a path, or "".
std::string StringAt(const nlohmann::json& object, std::initializer_list<std::string_view> path);

std::string NameOf(const nlohmann::json& object);
std::string NamespaceOf(const nlohmann::json& object);
std::string UidOf(const nlohmann::json& object);
std::string ResourceVersionOf(const nlohmann::json& object);
// "ns/name", or "name" for a cluster-scoped object: the key of stores and work queues.
std::string KeyOf(const nlohmann::json& object);
std::string MakeKey(std::string_view ns, std::string_view name);

}  // namespace yardmaster::kube
