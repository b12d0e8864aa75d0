#include "test/kinds/checker.h"

#include <map>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;

std::string NameOf(const json& object) {
  return StrCat(object["metadata"].value("namespace", std::string()), "/",
                object["metadata"]["name"].get<std::string>());
}

std::string HostOf(const json& pod) { return pod["spec"].value("nodeName", std::string()); }

bool HasEnded(const json& pod) {
  const std::string phase = pod.value("/status/phase"_json_pointer, "");
  return phase == "Succeeded" || phase == "Failed";
}

int GpusOf(const json& pod) {
  int gpus = 0;
  for (const json& container : pod["spec"]["containers"]) {
    const json limits = container.value("/resources/limits"_json_pointer, json::object());
    if (limits.contains(api::kGpuResource))
      gpus += std::stoi(limits[api::kGpuResource].get<std::string>());
  }
  return gpus;
}

json AssignmentsOf(const json& gang) {
  return gang.value("/status/assignments"_json_pointer, json::array());
}

// The job has ended: the Gang keeps its assignments to be read, and no host.
bool HasFinished(const json& gang) {
  for (const json& condition : gang.value("/status/conditions"_json_pointer, json::array())) {
    if (condition["type"] == "Finished") return condition["status"] == "True";
  }
  return false;
}

bool IsGated(const json& pod) {
  for (const json& gate : pod["spec"].value("schedulingGates", json::array())) {
    if (gate["name"] == api::kPlacementGate) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> BrokenPromises(const ClusterView& view) {
  std::vector<std::string> out;
  std::map<std::string, std::string> holder;
  for (const json& gang : view.gangs) {
    if (HasFinished(gang)) continue;
    for (const json& slot : AssignmentsOf(gang)) {
      const std::string who = StrCat(NameOf(gang), " rank ", slot["rank"].get<int>());
      const auto [at, first] = holder.emplace(slot["host"].get<std::string>(), who);
      if (!first)
        out.push_back(StrCat("host ", at->first, " is promised to ", at->second, " and to ", who));
    }
  }
  std::map<std::string, int> free;
  for (const json& node : view.nodes) {
    const std::string gpus =
        node["status"]["allocatable"].value(api::kGpuResource, std::string("0"));
    free[node["metadata"]["name"].get<std::string>()] = std::stoi(gpus);
  }
  for (const json& pod : view.pods) {
    const auto host = free.find(HostOf(pod));
    if (host == free.end() || HasEnded(pod)) continue;
    host->second -= GpusOf(pod);
    if (host->second < 0) {
      out.push_back(StrCat("host ", host->first,
                           " has pods with more GPUs than it has, the last is ", NameOf(pod)));
    }
  }
  return out;
}

std::vector<std::string> Unfinished(const ClusterView& view) {
  std::vector<std::string> out;
  std::map<std::pair<std::string, int>, std::string> host_of;  // (namespace/gang, rank)
  for (const json& gang : view.gangs) {
    for (const json& slot : AssignmentsOf(gang)) {
      host_of[{NameOf(gang), slot["rank"].get<int>()}] = slot["host"].get<std::string>();
    }
  }
  for (const json& pod : view.pods) {
    if (HasEnded(pod)) continue;
    if (IsGated(pod)) out.push_back(StrCat(NameOf(pod), " waits behind our gate"));
    const json annotations = pod["metadata"].value("annotations", json::object());
    if (!annotations.contains(api::kSlotAnnotation)) continue;
    const json slot =
        json::parse(annotations[api::kSlotAnnotation].get<std::string>(), nullptr, false);
    if (slot.is_discarded()) {
      out.push_back(StrCat(NameOf(pod), " has a slot that is not JSON"));
      continue;
    }
    const std::string gang = StrCat(pod["metadata"]["namespace"].get<std::string>(), "/",
                                    slot["gang"].get<std::string>());
    const auto promised = host_of.find({gang, slot["rank"].get<int>()});
    if (promised == host_of.end()) {
      out.push_back(StrCat(NameOf(pod), " has a slot that ", gang, " has not"));
    } else if (promised->second != HostOf(pod)) {
      out.push_back(
          StrCat(NameOf(pod), " is on '", HostOf(pod), "' and not on ", promised->second));
    }
  }
  return out;
}

std::vector<std::string> Leftovers(const ClusterView& view) {
  std::vector<std::string> out;
  for (const json& gang : view.gangs) out.push_back(StrCat("Gang ", NameOf(gang), " is left"));
  for (const json& pod : view.pods) out.push_back(StrCat("Pod ", NameOf(pod), " is left"));
  for (const json& node : view.nodes) {
    for (const json& taint : node["spec"].value("taints", json::array())) {
      if (taint["key"] == api::kPromisedKey) {
        out.push_back(StrCat("host ", node["metadata"]["name"].get<std::string>(),
                             " is tainted as promised"));
      }
    }
  }
  return out;
}

}  // namespace yardmaster::testing
