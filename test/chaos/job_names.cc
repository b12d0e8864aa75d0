#include "test/chaos/job_names.h"

#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::chaos {

using nlohmann::json;

namespace {

bool IsTime(const std::string& key) {
  static const std::set<std::string> kTimes = {"uid",
                                               "resourceVersion",
                                               "generation",
                                               "observedGeneration",
                                               "creationTimestamp",
                                               "startTime",
                                               "endTime",
                                               "completionTime",
                                               "lastTransitionTime",
                                               "notBefore",
                                               "windowStart",
                                               "until",
                                               "lastTime",
                                               "finishedAt",
                                               "startedAt",
                                               "time",
                                               "lostWork",
                                               "checkpointRequested",
                                               "changed"};
  return kTimes.count(key) != 0;
}

// Annotations that hold a time: their presence remains, and the part that is not a time.
void StripText(const std::string& key, json& text) {
  if (key == api::kCheckpointRequestAnnotation || key == api::kCheckpointAnnotation) {
    text = "set";
  } else if (key == api::kHostRecordAnnotation) {
    text = WithoutTimes(json::parse(text.get<std::string>()));
  }
}

}  // namespace

std::string HostName(int pool, int host) { return StrCat("p", pool, "h", host); }

int RankOf(const json& pod) {
  const std::string rank = pod["metadata"]["labels"].value(api::kRankLabel, "");
  return rank.empty() ? -1 : ParseNumber<int>(rank).value_or(-1);
}

std::string PhaseOf(const json& pod) { return pod["status"].value("phase", ""); }

bool IsDeleting(const json& object) { return object["metadata"].contains("deletionTimestamp"); }

std::string NodeOf(const json& pod) { return pod["spec"].value("nodeName", ""); }

bool IsTrue(const json& object, const std::string& type) {
  const json conditions = object.value("/status/conditions"_json_pointer, json::array());
  for (const json& condition : conditions) {
    if (condition["type"] == type) return condition["status"] == "True";
  }
  return false;
}

json WithoutTimes(json object) {
  if (object.is_object() && object.contains("deletionTimestamp")) {
    object["deletionTimestamp"] = "set";
  }
  if (object.is_object()) {
    json kept = json::object();
    for (auto& [key, value] : object.items()) {
      if (IsTime(key)) continue;
      if (value.is_string()) StripText(key, value);
      kept[key] = WithoutTimes(std::move(value));
    }
    return kept;
  }
  if (object.is_array()) {
    for (json& value : object) value = WithoutTimes(std::move(value));
  }
  return object;
}

}  // namespace yardmaster::chaos
