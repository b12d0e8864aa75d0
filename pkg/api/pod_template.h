// The pod template of a TrainingJob or of one of its roles, as it is kept while the job exists.
//
// Invariant: its fields have the types that ReadPodManifest checks. It is kept as one text of
// bytes() bytes and not as a tree of values, which takes many times as much.
// Thread safety: a value; copies share what is immutable.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"

namespace yardmaster::api {

struct PodManifest;

// Label of Kueue: the queue that is to admit an object.
inline constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";
// What Kueue puts into the pod templates of a job that it admits: a label and an annotation.
inline constexpr char kAdmittedPodSetLabel[] = "kueue.x-k8s.io/podset";
inline constexpr char kWorkloadAnnotation[] = "kueue.x-k8s.io/workload";

class PodTemplate {
 public:
  PodTemplate() = default;  // empty

  // More than a template has that names its scripts and does not contain them.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

  // Reads the field `key` of `object`. Errors are those of ReadPodManifest, and a template that is
  // larger than kMaxBytes or has more than 64 levels, which reads as empty.
  static PodTemplate Read(FieldReader& object, std::string_view key);

  // A new pod to fill in. O(bytes()).
  PodManifest Manifest() const;
  nlohmann::json ToJson() const;
  std::size_t bytes() const { return text_ == nullptr ? 0 : text_->size(); }

  bool host_network() const { return host_network_; }
  // Of the first container.
  bool has_pre_stop_hook() const { return has_pre_stop_hook_; }
  const std::string& priority_class() const { return priority_class_; }
  // Kueue's queue that a label of the template names; empty: none.
  const std::string& queue() const { return queue_; }
  // It has what Kueue puts into the templates of a job that it admits.
  bool admitted_by_queue() const { return admitted_by_queue_; }
  // Its spec.resourceClaims is not empty.
  bool has_claims() const { return has_claims_; }

 private:
  std::shared_ptr<const std::string> text_;  // JSON; null: an empty object
  bool host_network_ = false;
  bool has_pre_stop_hook_ = false;
  std::string priority_class_;
  std::string queue_;
  bool admitted_by_queue_ = false;
  bool has_claims_ = false;
};

}  // namespace yardmaster::api
