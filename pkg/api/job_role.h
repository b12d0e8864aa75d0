// Roles of a TrainingJob beside its workers: pods without GPUs of the job, such as a launcher, a
// data service or an evaluator on CPUs. They have no rank and take no part in placement,
// parallelism or the network plan: the gang is the workers.
//
// Members of a job are its workers by rank, then the pods of roles in the order of `spec.roles`, by
// index. The number of a pod of a role among them follows the last rank (RoleMemberOf); incidents
// name pods of roles by it.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_visitor.h"
#include "pkg/api/pod_template.h"

namespace yardmaster::api {

// Labels of pods of roles, in place of the rank: the role's name, and the pod's index in it.
inline constexpr char kRoleLabel[] = "yardmaster.dev/role";
inline constexpr char kRoleIndexLabel[] = "yardmaster.dev/role-index";

inline constexpr TextRule kRoleName = DnsLabel(56);
inline constexpr ListRule kRoleList = {.max_entries = 8, .map_key = "name"};
inline constexpr int kMaxReplicas = 1000;

// What follows when a pod of a role fails or is lost.
enum class OnRoleFailure {
  kReplace,  // that pod alone is recreated
  kRestart,  // all pods of the job restart, as after the failure of a worker
  kFail
};

struct JobRole {
  std::string name;
  int replicas = 1;
  OnRoleFailure on_failure = OnRoleFailure::kReplace;
  PodTemplate pod_template;
};

struct RoleStatus {
  std::string name;
  int ready = 0;
  int succeeded = 0;
  bool operator==(const RoleStatus&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("name", name, TextRule{kRoleName.max_length},
                Required("Name of the role.").Always());
    fields.Int("ready", ready, 0, kMaxReplicas, "Pods that run.");
    fields.Int("succeeded", succeeded, 0, kMaxReplicas, "Pods that have succeeded.");
  }
};

// A pod of a role.
struct RoleMember {
  int role = 0;  // in the list of roles
  int index = 0;
};

// The member with this number. REQUIRES: workers <= member < workers + all replicas.
RoleMember RoleMemberOf(const std::vector<JobRole>& roles, int workers, int member);
// Pods of all roles.
int ReplicasOf(const std::vector<JobRole>& roles);

// An entry of spec.roles. `job`: name of the TrainingJob; `gpu_resource`: what its workers ask for.
void DescribeRole(FieldVisitor& fields, JobRole& role, const std::string& job,
                  const std::string& gpu_resource);
// What the API server checks of a pod template.
nlohmann::json PodTemplateSchema();

}  // namespace yardmaster::api
