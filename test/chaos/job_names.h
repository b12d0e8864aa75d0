// What the objects of a history of TrainingJobs are called, and how they are read. Pure functions.
#pragma once

#include <string>

#include "nlohmann/json.hpp"

namespace yardmaster::chaos {

inline constexpr char kTeam[] = "team";
inline constexpr char kRoleHost[] = "cpu0";
inline constexpr char kKubelet[] = "chaos/kubelet";  // the finalizer of a pod whose containers run
inline constexpr char kLeaving[] = "aws-node-termination-handler/spot-itn";

inline constexpr int kPoolHosts = 6;  // of each job

std::string HostName(int pool, int host);
// -1: a pod of a role.
int RankOf(const nlohmann::json& pod);
std::string PhaseOf(const nlohmann::json& pod);
bool IsDeleting(const nlohmann::json& object);
std::string NodeOf(const nlohmann::json& pod);
// The object's condition is True.
bool IsTrue(const nlohmann::json& object, const std::string& type);
// Times, uids, versions and what follows from times alone are left out, at any depth.
nlohmann::json WithoutTimes(nlohmann::json object);

}  // namespace yardmaster::chaos
