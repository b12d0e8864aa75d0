#include "pkg/operator/hosts/node_marks.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

bool IsQuarantine(const api::Taint& taint) { return taint.key == api::kQuarantinedKey; }

bool IsOwnFence(const api::Taint& taint) {
  return taint.key == api::kOutOfServiceKey && taint.value == api::kOutOfServiceValue;
}

// "~" and "/" of a key in a JSON pointer.
std::string Escaped(const std::string& key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

NodeMarks MarksOf(const api::Node& node) {
  NodeMarks marks;
  const auto taint = std::find_if(node.taints.begin(), node.taints.end(), IsQuarantine);
  if (taint != node.taints.end()) marks.quarantined = taint->value.empty() ? "-" : taint->value;
  marks.out_of_service = std::any_of(node.taints.begin(), node.taints.end(), IsOwnFence);
  marks.record = api::Find(node.metadata.annotations, api::kHostRecordAnnotation).value_or("");
  return marks;
}

bool IsOutOfService(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const api::Taint& taint) { return taint.key == api::kOutOfServiceKey; });
}

std::optional<json> PatchOf(const api::Node& node, const NodeMarks& wanted) {
  const NodeMarks now = MarksOf(node);
  if (now == wanted) return std::nullopt;
  json operations = json::array({{{"op", "test"},
                                  {"path", "/metadata/resourceVersion"},
                                  {"value", node.metadata.resource_version}}});
  // Removals first, from the end, so that indices hold.
  for (std::size_t i = node.taints.size(); i-- > 0;) {
    const bool goes = (IsQuarantine(node.taints[i]) && wanted.quarantined != now.quarantined) ||
                      (IsOwnFence(node.taints[i]) && !wanted.out_of_service);
    if (goes) operations.push_back({{"op", "remove"}, {"path", StrCat("/spec/taints/", i)}});
  }
  // The list itself stays when its last entry is removed.
  bool first = node.taints.empty();
  const auto add = [&](const char* key, const std::string& value, const char* effect) {
    const json taint = {{"key", key}, {"value", value}, {"effect", effect}};
    operations.push_back({{"op", "add"},
                          {"path", first ? "/spec/taints" : "/spec/taints/-"},
                          {"value", first ? json::array({taint}) : taint}});
    first = false;
  };
  if (!wanted.quarantined.empty() && wanted.quarantined != now.quarantined) {
    add(api::kQuarantinedKey, wanted.quarantined, "NoSchedule");
  }
  // A Node has one taint of a key and effect: that of others stays.
  if (wanted.out_of_service && !IsOutOfService(node)) {
    add(api::kOutOfServiceKey, api::kOutOfServiceValue, "NoExecute");
  }
  const std::string path = StrCat("/metadata/annotations/", Escaped(api::kHostRecordAnnotation));
  if (wanted.record.empty() && !now.record.empty()) {
    operations.push_back({{"op", "remove"}, {"path", path}});
  } else if (wanted.record != now.record) {
    if (node.metadata.annotations.empty()) {
      operations.push_back(
          {{"op", "add"}, {"path", "/metadata/annotations"}, {"value", json::object()}});
    }
    operations.push_back({{"op", "add"}, {"path", path}, {"value", wanted.record}});
  }
  if (operations.size() == 1) return std::nullopt;
  return operations;
}

}  // namespace yardmaster::op
