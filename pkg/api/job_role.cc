#include "pkg/api/job_role.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kFailureNames[] = {"Replace", "Restart", "Fail"};
constexpr ListRule kRoleList = {.max_entries = 8, .map_key = "name"};
constexpr int kMaxReplicas = 1000;
constexpr std::size_t kMaxHostName = 63;  // a DNS label

void CheckName(FieldReader& in, const JobRole& role, const std::string& job) {
  const std::string longest = StrCat(job, "-", role.name, "-", role.replicas - 1);
  if (longest.size() > kMaxHostName) {
    in.errors().Add(
        in.PathOf("name"),
        StrCat("makes the pod's name ", longest, ", of ", longest.size(), " characters"),
        StrCat("shorten it or metadata.name; ", kMaxHostName, " are allowed"));
  }
}

void CheckRequests(FieldReader& in, FieldReader& pod, const std::string& gpu_resource) {
  FieldReader no_status(nullptr, "status", UnknownFields::kIgnore, &in.errors());
  const workload::ResourceList requests = ReadPodRequests(pod, no_status, {});
  if (workload::AmountOf(requests, gpu_resource) == 0) return;
  in.errors().Add(in.PathOf("template") + ".spec.containers",
                  StrCat("ask for ", gpu_resource, ", which the workers have"),
                  "leave it out; a pod that needs GPUs is a worker or a job of its own");
}

}  // namespace

RoleMember RoleMemberOf(const std::vector<JobRole>& roles, int workers, int member) {
  RoleMember out{0, member - workers};
  while (out.index >= roles[static_cast<std::size_t>(out.role)].replicas) {
    out.index -= roles[static_cast<std::size_t>(out.role++)].replicas;
  }
  return out;
}

int ReplicasOf(const std::vector<JobRole>& roles) {
  int replicas = 0;
  for (const JobRole& role : roles) replicas += role.replicas;
  return replicas;
}

std::vector<JobRole> ReadRoles(FieldReader& spec, const std::string& job,
                               const std::string& gpu_resource) {
  std::vector<JobRole> roles;
  for (FieldReader& in : spec.Objects("roles", kRoleList)) {
    JobRole role;
    role.name = in.RequiredString("name", kRoleName);
    role.replicas = in.Int("replicas", role.replicas, 1, kMaxReplicas);
    role.on_failure = in.Enum("onFailure", kFailureNames, role.on_failure);
    CheckName(in, role, job);
    FieldReader pod = in.OpenObject("template").OpenObject("spec");
    CheckRequests(in, pod, gpu_resource);
    role.pod_template = PodTemplate::Read(in, "template");
    in.Close();
    roles.push_back(std::move(role));
  }
  return roles;
}

json EncodeRoles(const std::vector<JobRole>& roles) {
  json out = json::array();
  for (const JobRole& role : roles) {
    out.push_back({{"name", role.name},
                   {"replicas", role.replicas},
                   {"onFailure", kFailureNames[static_cast<std::size_t>(role.on_failure)]},
                   {"template", role.pod_template.ToJson()}});
  }
  return out;
}

std::vector<RoleStatus> ReadRoleStatus(FieldReader& status) {
  std::vector<RoleStatus> roles;
  for (FieldReader& in : status.Objects("roles", kRoleList)) {
    roles.push_back({in.RequiredString("name", TextRule{kRoleName.max_length}),
                     in.Int("ready", 0, 0, kMaxReplicas), in.Int("succeeded", 0, 0, kMaxReplicas)});
    in.Close();
  }
  return roles;
}

json EncodeRoleStatus(const std::vector<RoleStatus>& roles) {
  json out = json::array();
  for (const RoleStatus& role : roles) {
    out.push_back({{"name", role.name}, {"ready", role.ready}, {"succeeded", role.succeeded}});
  }
  return out;
}

}  // namespace yardmaster::api
