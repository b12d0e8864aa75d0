// The name of a Kubernetes object of a known kind: its namespace and its name. Kinds without
// namespaces have an empty one. Names order by namespace, then by name, byte by byte.
//
// The view is what lookups take: a name converts to it without a copy. Thread safety: values; the
// view must not outlive the strings that it was made of.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace yardmaster {

struct NamespacedName {
  std::string namespace_name;
  std::string name;

  auto operator<=>(const NamespacedName&) const = default;
  // As people and log lines write it: "namespace/name".
  std::string text() const { return namespace_name + "/" + name; }
};

struct NamespacedNameView {
  std::string_view namespace_name;
  std::string_view name;

  constexpr NamespacedNameView(std::string_view in_namespace, std::string_view of_object)
      : namespace_name(in_namespace), name(of_object) {}
  NamespacedNameView(const NamespacedName& of)  // NOLINT(google-explicit-constructor)
      : namespace_name(of.namespace_name), name(of.name) {}
  auto operator<=>(const NamespacedNameView&) const = default;
};

}  // namespace yardmaster
