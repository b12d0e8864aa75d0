// The TrainingJob "team/a" of a story or a random history, as the API server in memory has it. TESTONLY.
// Thread safety: none.
#pragma once

#include <string>

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster {

class JobStoryFixture : public extender::PlannerFixture {
 protected:
  nlohmann::json Job() { return *client_.Find(kube::TrainingJobs(), "team", "a"); }
  // Writes a field of its spec as a user does.
  void Change(const char* field, const nlohmann::json& value) {
    nlohmann::json job = Job();
    job["spec"][field] = value;
    client_.Seed(kube::TrainingJobs(), job);
  }
  nlohmann::json Capacity() { return Status("capacity"); }
  nlohmann::json Elastic() { return Status("elastic"); }
  // Of its status; empty without one of that type.
  nlohmann::json JobCondition(const std::string& type) {
    const nlohmann::json status = Job().value("status", nlohmann::json::object());
    for (const nlohmann::json& c : status.value("conditions", nlohmann::json::array())) {
      if (c["type"] == type) return c;
    }
    return nlohmann::json::object();
  }
  // "True", "False", "Unknown", or "(none)" without such a condition.
  std::string Is(const std::string& type) { return JobCondition(type).value("status", "(none)"); }
  bool IsTrue(const std::string& type) { return Is(type) == "True"; }

 private:
  nlohmann::json Status(const char* field) {
    return Job().value("status", nlohmann::json::object()).value(field, nlohmann::json::object());
  }
};

}  // namespace yardmaster
