// Pods and jobs as JSON for tests of what builds them. TESTONLY. Thread safety: pure functions.
#pragma once

#include "absl/functional/function_ref.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

inline api::PodManifest ManifestOf(const nlohmann::json& pod) {
  const nlohmann::json object = {{"pod", pod}};
  api::FieldErrors errors;
  api::FieldReader in(&object, "", api::UnknownFields::kIgnore, &errors);
  api::PodManifest manifest = api::ReadPodManifest(in, "pod");
  EXPECT_TRUE(errors.empty()) << errors.status();
  return manifest;
}

// `pod` after `edit`.
inline nlohmann::json EditPod(const nlohmann::json& pod,
                              absl::FunctionRef<void(api::PodManifest&)> edit) {
  api::PodManifest manifest = ManifestOf(pod);
  edit(manifest);
  return api::EncodePodManifest(manifest);
}

// As the API server has it.
inline api::TrainingJob JobOf(const nlohmann::json& object) {
  const auto job = api::DecodeTrainingJob(object, api::UnknownFields::kIgnore);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? *job : api::TrainingJob();
}

}  // namespace yardmaster::op
