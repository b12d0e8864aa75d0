#include "pkg/kube/object.h"

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::kube {

using nlohmann::json;

const json* FindAt(const json& object, std::initializer_list<std::string_view> path) {
  const json* at = &object;
  for (std::string_view key : path) {
    if (!at->is_object()) return nullptr;
    auto it = at->find(std::string(key));
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

std::string StringAt(const json& object, std::initializer_list<std::string_view> path) {
  const json* at = FindAt(object, path);
  return at != nullptr && at->is_string() ? at->get<std::string>() : std::string();
}

std::string NameOf(const json& object) { return StringAt(object, {"metadata", "name"}); }
std::string NamespaceOf(const json& object) { return StringAt(object, {"metadata", "namespace"}); }
std::string UidOf(const json& object) { return StringAt(object, {"metadata", "uid"}); }
std::string ResourceVersionOf(const json& object) {
  return StringAt(object, {"metadata", "resourceVersion"});
}
std::string KeyOf(const json& object) { return MakeKey(NamespaceOf(object), NameOf(object)); }

std::string MakeKey(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : StrCat(ns, "/", name);
}

}  // namespace yardmaster::kube
