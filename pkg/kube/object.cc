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

std::string StringAt(JsonView object, std::initializer_list<std::string_view> path) {
  return object.At(path).Text();
}

std::string NameOf(JsonView object) { return StringAt(object, {"metadata", "name"}); }
std::string NamespaceOf(JsonView object) { return StringAt(object, {"metadata", "namespace"}); }
std::string UidOf(JsonView object) { return StringAt(object, {"metadata", "uid"}); }
std::string ResourceVersionOf(JsonView object) {
  return StringAt(object, {"metadata", "resourceVersion"});
}
std::string KeyOf(JsonView object) { return MakeKey(NamespaceOf(object), NameOf(object)); }

std::string MakeKey(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : StrCat(ns, "/", name);
}

}  // namespace yardmaster::kube
