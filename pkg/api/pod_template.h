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

 private:
  std::shared_ptr<const std::string> text_;  // JSON; null: an empty object
  bool host_network_ = false;
  bool has_pre_stop_hook_ = false;
  std::string priority_class_;
};

}  // namespace yardmaster::api
