#include "pkg/api/job_role.h"

#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kFailureNames[] = {"Replace", "Restart", "Fail"};
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

json PodTemplateSchema() {
  const auto open = [](const char* meaning) -> json {
    return {{"type", "object"},
            {"x-kubernetes-preserve-unknown-fields", true},
            {"description", meaning}};
  };
  return {
      {"type", "object"},
      {"properties",
       {{"metadata", open("Labels and annotations of the pods.")}, {"spec", open("A PodSpec.")}}}};
}

void DescribeRole(FieldVisitor& fields, JobRole& role, const std::string& job,
                  const std::string& gpu_resource) {
  fields.Text("name", role.name, kRoleName,
              Required("Part of the pods' names, <job>-<role>-<index>.").Always());
  fields.Int("replicas", role.replicas, 1, kMaxReplicas, Defaulted("Pods of the role."));
  fields.Enum(
      "onFailure", role.on_failure, kFailureNames,
      Defaulted("What follows when a pod of the role fails or its host is lost. Replace replaces "
                "that pod; Restart restarts all pods of the job; Fail ends the job. A "
                "failure takes one restart of recovery.maxRestarts."));
  fields.Check([&](FieldReader& in) { CheckName(in, role, job); });
  fields.Custom(
      "template", PodTemplateSchema,
      RequiredByServer("Pod template of the role. It asks for no GPUs of the job."),
      [&](FieldReader& in) {
        role.pod_template = PodTemplate::Read(in, "template");
        if (role.pod_template.bytes() == 0) return;  // too large to look into
        FieldReader pod = in.OpenObject("template").OpenObject("spec");
        CheckRequests(in, pod, gpu_resource);
      },
      [&] { return role.pod_template.ToJson(); });
}

}  // namespace yardmaster::api
