#include "pkg/operator/testing/pool_controller.h"

#include <set>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/kube/resource.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kTime[] = "2026-01-01T00:00:00Z";
constexpr char kNotice[] = "aws-node-termination-handler/spot-itn";

bool IsTrue(const json& object, const std::string& type) {
  const json conditions = object.value("/status/conditions"_json_pointer, json::array());
  for (const json& condition : conditions) {
    if (condition["type"] == type) return condition["status"] == "True";
  }
  return false;
}

json Condition(const char* type, const char* reason) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", reason},
          {"lastTransitionTime", kTime}};
}

std::vector<json> All(kube::Client& client, const kube::Resource& resource) {
  const auto list = kube::ListAll(client, {resource});
  std::vector<json> out;
  if (!list.ok()) return out;
  for (const auto& object : *list) out.push_back(*object);
  return out;
}

}  // namespace

bool PoolController::HasRoom(const json& labels, int hosts) {
  int* room = nullptr;
  for (auto& [label, left] : room_) {
    if (labels.value(label.first, "") == label.second) room = &left;
  }
  if (room == nullptr) return true;
  if (*room < hosts) return false;
  *room -= hosts;
  return true;
}

void PoolController::MakeNode(const std::string& name, const std::string& for_what,
                              const json& labels, const json& taints, const json& resources,
                              int pods) {
  json node = {{"apiVersion", "v1"},
               {"kind", "Node"},
               {"metadata", {{"name", name}, {"labels", labels}}},
               {"spec", {{"taints", taints}}},
               {"status",
                {{"allocatable", resources},
                 {"capacity", resources},
                 {"conditions", json::array({{{"type", "Ready"},
                                              {"status", "True"},
                                              {"reason", "KubeletReady"},
                                              {"lastTransitionTime", kTime}}})}}}};
  node["status"]["allocatable"]["pods"] = StrCat(pods);
  node["status"]["capacity"]["pods"] = StrCat(pods);
  auto made = client_.Create({kube::Nodes()}, node);
  if (!made.ok()) return;
  // A real API server takes the status apart from the rest.
  client_.Patch({kube::Nodes(), "", name, "status"}, kube::MergePatch({{"status", node["status"]}}))
      .IgnoreError();
  nodes_[name] = for_what;
}

void PoolController::SetConditions(const kube::Target& target, json conditions,
                                   const std::string& node) {
  json status = {{"conditions", std::move(conditions)}};
  if (!node.empty()) status["nodeName"] = node;
  kube::Target at = target;
  at.subresource = "status";
  client_.Patch(at, kube::MergePatch({{"status", std::move(status)}})).IgnoreError();
}

// A host carries as many pods of the template as its GPUs allow: eight in this test.
void PoolController::Grant(const json& request) {
  const std::string ns = request["metadata"]["namespace"];
  const std::string name = request["metadata"]["name"];
  const kube::Target target{kube::ProvisioningRequests(), ns, name, ""};
  if (IsTrue(request, "Provisioned") || IsTrue(request, "Failed")) return;
  struct Set {
    json labels;
    int hosts = 0;
  };
  std::vector<Set> sets;
  for (const json& set : request["spec"]["podSets"]) {
    const auto pod_template =
        client_.Get({kube::PodTemplates(), ns, set["podTemplateRef"]["name"], ""});
    if (!pod_template.ok()) return;
    const json& spec = (*pod_template)["template"]["spec"];
    const std::string gpus = spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"];
    const int per_host = 8 / std::stoi(gpus);
    sets.push_back({spec["nodeSelector"], (set["count"].get<int>() + per_host - 1) / per_host});
  }
  for (const Set& set : sets) {
    if (HasRoom(set.labels, set.hosts)) continue;
    return SetConditions(target, json::array({Condition("Failed", "CapacityIsNotFound")}));
  }
  for (const Set& set : sets) {
    for (int i = 0; i < set.hosts; ++i) {
      MakeNode(
          StrCat("rented-", next_++), StrCat("ProvisioningRequest/", name), set.labels,
          json::array(
              {{{"key", "yardmaster.dev/rented"}, {"value", "pool"}, {"effect", "NoSchedule"}}}),
          {{"cpu", "96"}, {"nvidia.com/gpu", "8"}}, 110);
    }
  }
  SetConditions(target, json::array({Condition("Accepted", "Accepted"),
                                     Condition("Provisioned", "Provisioned")}));
}

void PoolController::Launch(const json& claim) {
  const std::string name = claim["metadata"]["name"];
  if (IsTrue(claim, "Initialized")) return;
  json labels = claim["metadata"]["labels"];
  for (const json& requirement : claim["spec"]["requirements"]) {
    labels[requirement["key"].get<std::string>()] = requirement["values"][0];
  }
  const kube::Target target{kube::NodeClaims(), "", name, ""};
  // Karpenter removes a claim that it has no capacity for.
  if (!HasRoom(labels, 1)) {
    client_.Delete(target).IgnoreError();
    return;
  }
  const std::string node = StrCat("rented-", next_++);
  MakeNode(node, StrCat("NodeClaim/", name), labels, claim["spec"]["taints"],
           {{"cpu", "96"}, {"nvidia.com/gpu", "8"}}, 110);
  SetConditions(
      target,
      json::array({Condition("Launched", "Launched"), Condition("Registered", "Registered"),
                   Condition("Initialized", "Initialized"), Condition("Ready", "Ready")}),
      node);
}

void PoolController::Step() {
  std::set<std::string> wanted;
  for (const json& request : All(client_, kube::ProvisioningRequests())) {
    wanted.insert(StrCat("ProvisioningRequest/", request["metadata"]["name"].get<std::string>()));
    Grant(request);
  }
  for (const json& claim : All(client_, kube::NodeClaims())) {
    wanted.insert(StrCat("NodeClaim/", claim["metadata"]["name"].get<std::string>()));
    Launch(claim);
  }
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (wanted.count(node->second) != 0) {
      ++node;
      continue;
    }
    client_.Delete({kube::Nodes(), "", node->first, ""}).IgnoreError();
    node = nodes_.erase(node);
  }
}

void PoolController::Reclaim(const std::string& label, const std::string& value) {
  for (const auto& [name, for_what] : nodes_) {
    auto node = client_.Get({kube::Nodes(), "", name, ""});
    if (!node.ok() || (*node)["metadata"]["labels"].value(label, "") != value) continue;
    json taints = (*node)["spec"].value("taints", json::array());
    taints.push_back({{"key", kNotice}, {"effect", "NoSchedule"}});
    client_.Patch({kube::Nodes(), "", name, ""}, kube::MergePatch({{"spec", {{"taints", taints}}}}))
        .IgnoreError();
  }
}

}  // namespace yardmaster::op
