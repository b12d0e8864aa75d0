// A TrainingJob of two that has run on n0 and n1 for ten minutes and is asked to move, with the
// extender's answers.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/field_codec.h"
#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/operator/testing/placed_job_fixture.h"

namespace yardmaster::op {

class MovingJobFixture : public PlacedJobFixture {
 protected:
  using Hosts = std::vector<std::string>;

  MovingJobFixture() {
    place_ = {.first = true};
    NewLeader();
  }

  // A job of two has run on n0 and n1 for ten minutes.
  void RunJob(const json& spec = json::object()) {
    SeedJob(2, 6, spec);
    RunUntilStable();
    Place();
    RunUntilStable();
    StartPods();
    MarkReleased();
    RunUntilStable();
    ASSERT_EQ(Condition("Running"), "True");
    clock_.Advance(kLeastRunMs);
  }
  // As kube-scheduler and kubelets do.
  void StartPods() {
    for (int rank = 0; rank < Workers(); ++rank) {
      if (!HasPod(rank) || IsGated(rank)) continue;
      if (!HostOfPin(rank).empty()) SetPod(rank, "Running", HostOfPin(rank));
    }
  }
  void Ask(const Hosts& hosts = {"n2", "n3"}, const std::string& id = "m1") {
    AskBy(api::EncodeMoveRequest({id, hosts}));
  }
  void AskBy(const std::string& text) {
    json job = Job();
    job["metadata"]["annotations"][api::kMoveAnnotation] = text;
    client_.Seed(kube::TrainingJobs(), job);
    RunUntilStable();
  }
  // As the operator's policy writes it (move_policy.h).
  void AskByPolicy() {
    json job = Job();
    api::JobMove asked;
    asked.record = Record();
    asked.id = StrCat("policy-", clock_.WallMs());
    asked.state = api::JobMoveState::kAsked;
    asked.by_policy = true;
    asked.price_gpu_seconds = 9'600;
    asked.asked_ms = clock_.WallMs() / 1000 * 1000;
    asked.hosts = {"n2", "n3"};
    asked.record.policy_moves.push_back({asked.asked_ms, asked.price_gpu_seconds});
    job["status"]["move"] = api::EncodeObject(asked);
    client_.Seed(kube::TrainingJobs(), job);
    RunUntilStable();
  }
  // It has moved to n2 and n3.
  void MoveOnce() {
    Answer(api::GangMoveState::kPromised);
    TakeUp();
    StartPods();
    MarkReleased();
    RunUntilStable();
    ASSERT_EQ(State(), "Done");
  }
  // What the extender does.
  void Answer(api::GangMoveState state, const std::string& message = "because") {
    WriteAnswer(state, message);
    RunUntilStable();
  }
  void WriteAnswer(api::GangMoveState state, const std::string& message = "because") {
    api::Gang gang = Gang().value();
    api::GangMove move{MoveId(), state, message, clock_.WallMs(), 0, {}, {}};
    if (state == api::GangMoveState::kPromised) {
      move.expires_ms = clock_.WallMs() + 600'000;
      for (int rank = 0; rank < 2; ++rank) {
        move.assignments.push_back({rank, StrCat("n", rank + 2), "p0", "s0", {0}});
      }
    }
    gang.status.move = std::move(move);
    Write(gang);
  }
  void TakeUp() {
    WriteNextPlace();
    RunUntilStable();
  }
  void WriteNextPlace() {
    api::Gang gang = Gang().value();
    gang.status.assignments = gang.status.move->assignments;
    gang.status.move->assignments.clear();
    gang.status.move->state = api::GangMoveState::kDone;
    ++gang.status.plan_generation;
    gang.status.committed_ms = clock_.WallMs();
    SetGangCondition(gang, api::kReleasedCondition, false);
    Write(gang);
  }
  api::MoveRecord Record() {
    const auto job = api::DecodeTrainingJob(Job(), api::UnknownFields::kIgnore);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->status.move.record : api::MoveRecord();
  }
  json Move() { return Status().value("move", json::object()); }
  std::string MoveId() { return Move().value("id", ""); }
  std::string State() { return Move().value("state", ""); }
  std::string Why() { return Move().value("message", ""); }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
  Hosts Pins() { return {HostOfPin(0), HostOfPin(1)}; }
};

}  // namespace yardmaster::op
