// A pod as a template describes it: what Yardmaster reads or changes has a C++ type, the rest is
// kept as it was written.
//
// No earlier layer checks the types of a pod template: the schema of a TrainingJob lets it through
// whole, and the API server looks at it first when a pod is made of it. ReadPodManifest is the one
// place that looks at the types of its fields. What is built from a manifest cannot meet a value of
// another type.
//
// Encode gives back what was read, except that fields that were null and lists that were empty are
// left out. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"

namespace yardmaster::api {

// Fields by name, with values of any type.
using OpaqueFields = nlohmann::json::object_t;

// An entry of a list, and the field of it that tells it from others.
struct KeyedEntry {
  std::string key;
  nlohmann::json entry;
};

bool HasKey(const std::vector<KeyedEntry>& list, std::string_view key);

struct ContainerManifest {
  std::vector<KeyedEntry> env;            // by name
  std::vector<KeyedEntry> volume_mounts;  // by mountPath
  OpaqueFields limits;                    // by resource
  OpaqueFields requests;
  std::vector<KeyedEntry> claims;  // of resources, by name
  OpaqueFields resources;          // what else is there
  OpaqueFields lifecycle;
  OpaqueFields fields;  // all others

  bool AsksFor(const std::string& resource) const;
  // Each keeps what the container has under that name or path.
  void AddEnv(const std::string& name, const std::string& value);
  void AddMount(const std::string& volume, const std::string& path, bool read_only);
};

// A term without requirements selects nothing.
struct NodeTermManifest {
  std::vector<nlohmann::json> expressions;
  std::vector<nlohmann::json> fields;
};

struct PodManifest {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  OpaqueFields metadata;  // all other fields of it

  std::vector<ContainerManifest> containers;
  std::vector<ContainerManifest> init_containers;
  std::vector<KeyedEntry> volumes;          // by name
  std::vector<KeyedEntry> resource_claims;  // by name
  std::vector<nlohmann::json> scheduling_gates;
  std::vector<nlohmann::json> tolerations;
  std::map<std::string, std::string> node_selector;
  // Required node affinity; no terms select nothing, nullopt selects everything.
  std::optional<std::vector<NodeTermManifest>> node_terms;
  OpaqueFields node_affinity;  // all other fields of it
  OpaqueFields affinity;
  bool host_network = false;
  std::string dns_policy;  // empty: not given, and so below
  std::string restart_policy;
  std::string priority_class;
  std::optional<std::int64_t> grace_seconds;
  OpaqueFields spec;   // all other fields of it
  OpaqueFields other;  // beside metadata and spec

  // The first container's. REQUIRES: there is one.
  bool has_liveness_probe() const { return containers.front().fields.count("livenessProbe") != 0; }
  // Keeps a volume of that name.
  void AddVolume(const std::string& name, nlohmann::json volume);
  // A claim made from the template, which every container has. REQUIRES: no claim has the name.
  void AddClaim(const std::string& name, const std::string& claim_template);
};

// Reads the field `key` of `object`, which holds a pod template. Reports each field of another type
// than core/v1 gives it, or without the name that the API server asks for, with its path, and
// leaves it out.
PodManifest ReadPodManifest(FieldReader& object, std::string_view key);
nlohmann::json EncodePodManifest(const PodManifest& pod);

}  // namespace yardmaster::api
