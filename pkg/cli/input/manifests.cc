#include "pkg/cli/input/manifests.h"

#include <algorithm>
#include <filesystem>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/input/workload_pods.h"
#include "pkg/config/json_text.h"
#include "pkg/config/yaml.h"
#include "pkg/extender/observe/pods_as_gangs.h"
#include "pkg/gather/owner_size.h"

namespace yardmaster::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string TextOf(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Why and where this is not JSON: "jobs.json:3:17: ...".
std::string JsonError(const std::string& text, const std::string& name) {
  try {
    const json value = json::parse(text);
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto line = std::count(text.begin(), end, '\n') + 1;
    const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
    const std::string what = error.what();
    const std::size_t reason = what.find(" - ");
    return StrCat(name, ":", line, ":", column, ": this is not JSON: ",
                  reason == std::string::npos ? what : what.substr(reason + 3),
                  "; look for a comma, quote or brace too many or too few");
  }
  return StrCat(name, ": this is not JSON");
}

// Kinds that are read and have no namespace.
bool IsClusterScoped(std::string_view kind) {
  return kind == "Node" || kind == "PriorityClass" || kind == "ResourceSlice" ||
         kind == "DeviceClass" || kind == api::kFabricKind || kind == api::kCapacityPoolKind;
}

// `wanted`, where the spec asks for as many pods.
std::optional<int> PodsInAll(const json& workload, int wanted) {
  const api::OwnerReference owner{TextOf(workload, "apiVersion"), TextOf(workload, "kind"), "", "",
                                  false};
  const auto size = gather::SizeOf(owner, workload);
  return size && size->pods() == wanted ? std::optional<int>(wanted) : std::nullopt;
}

bool IsOfServer(const json& object) {
  const auto meta = object.find("metadata");
  return meta != object.end() && !TextOf(*meta, "uid").empty();
}

// Of a workload that wants no gang. None: it is none of ours, and what is wrong with it, too.
std::vector<json> PodsIfAnnotated(const json& workload) {
  return PodsOfWorkload(workload, /*as_if_annotated=*/true).value_or(std::vector<json>());
}

class ManifestReader {
 public:
  explicit ManifestReader(const ManifestDefaults& defaults)
      : namespace_name_(defaults.namespace_name), priority_classes_(defaults.priority_classes) {}

  void ReadPath(const std::string& path, std::istream& in) {
    std::error_code error;
    if (path != "-" && fs::is_directory(path, error)) {
      ReadDirectory(path, in);
      return;
    }
    absl::StatusOr<std::string> text = ReadInput(path, in);
    if (!text.ok()) {
      errors_.AddLine(MessageOf(text.status()));
      return;
    }
    ReadText(*text, InputName(path));
  }

  absl::StatusOr<Manifests> Finish() {
    ExpandWorkloads();
    ResolvePriorities();
    if (!errors_.empty()) return errors_.status();
    return std::move(out_);
  }

 private:
  void ReadDirectory(const std::string& path, std::istream& in) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      const std::string name = entry.path().string();
      if (EndsWith(name, ".yaml") || EndsWith(name, ".yml") || EndsWith(name, ".json")) {
        files.push_back(name);
      }
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
      errors_.AddLine(StrCat(path, ": holds no .yaml, .yml or .json file; name a file or another ",
                             "directory"));
    }
    for (const std::string& file : files) ReadPath(file, in);
  }

  void ReadText(const std::string& text, const std::string& name) {
    // Large JSON is read by the faster parser; what it refuses may still be YAML in braces.
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{') {
      const auto value = config::ParseJsonText(text, name);
      if (!value.ok()) {
        errors_.AddLine(MessageOf(value.status()));
        return;
      }
      if (value->has_value()) {
        ReadObject(**value, name + ":1", "");
        return;
      }
    }
    auto documents = config::ParseYamlDocuments(text, name);
    if (!documents.ok()) {
      const std::size_t key = text.find_first_not_of("{ \t\r\n");
      const bool is_json = first != std::string::npos && text[first] == '{' &&
                           key != std::string::npos && text[key] == '"';
      errors_.AddLine(is_json ? JsonError(text, name) : MessageOf(documents.status()));
      return;
    }
    for (const config::YamlDocument& document : *documents) {
      ReadObject(document.value, StrCat(name, ":", document.line), "");
    }
  }

  void Fail(const std::string& where, const std::string& path, const std::string& lines) {
    for (const std::string& line : Split(lines, '\n')) {
      errors_.AddLine(StrCat(where, ": ", path, line));
    }
  }

  void ReadList(const json& list, const std::string& kind, const std::string& where,
                const std::string& path) {
    const auto items = list.find("items");
    if (items == list.end() || items->is_null()) return;
    if (!items->is_array()) {
      Fail(where, path, "items: expected a list; write one entry per object");
      return;
    }
    const std::string item_kind = kind.substr(0, kind.size() - 4);  // without "List"
    for (std::size_t i = 0; i < items->size(); ++i) {
      const std::string at = StrCat(path, "items[", i, "].");
      const json& item = (*items)[i];
      if (item.is_object() && !item_kind.empty() && !item.contains("kind")) {
        json named = item;  // the API server leaves the kind out of typed lists
        named["kind"] = item_kind;
        named["apiVersion"] = TextOf(list, "apiVersion");
        ReadObject(named, where, at);
      } else {
        ReadObject(item, where, at);
      }
    }
  }

  void ReadObject(const json& object, const std::string& where, const std::string& path) {
    out_.any_object = true;
    if (!object.is_object()) {
      Fail(where, path,
           StrCat("expected a Kubernetes object, got ", api::Shown(object),
                  "; write apiVersion, kind, metadata and spec"));
      return;
    }
    const std::string kind = TextOf(object, "kind");
    const std::string version = TextOf(object, "apiVersion");
    if (kind.empty() || version.empty()) {
      Fail(where, path,
           StrCat(
               kind.empty() ? "kind" : "apiVersion",
               ": is missing; write it as in kind: TrainingJob, apiVersion: ", api::kGroupVersion));
    } else if (EndsWith(kind, "List")) {
      ReadList(object, kind, where, path);
    } else if (NeedsNamespace(object, kind)) {
      json named = object;
      named["metadata"]["namespace"] = namespace_name_;
      ReadObject(named, where, path);
    } else if (version.substr(0, version.find('/')) == api::kGroup) {
      ReadOwn(object, kind, where, path);
    } else if (version == "v1" && kind == "Node") {
      Keep(out_.cluster.nodes, kind, api::DecodeNode(object), where, path);
    } else if (version == "v1" && kind == "Pod") {
      Keep(out_.cluster.pods, kind, api::DecodePod(object), where, path);
    } else if (version.starts_with("resource.k8s.io/v1")) {
      ReadDevices(object, kind, where, path);
    } else if (version == kNicDeviceVersion && kind == kNicDeviceKind) {
      absl::StatusOr<NicDevice> nic = DecodeNicDevice(object);
      if (!nic.ok()) return Fail(where, path, MessageOf(nic.status()));
      out_.nics.push_back(*std::move(nic));
    } else if (IsPodGroup(version, kind)) {
      absl::StatusOr<PodGroup> group = DecodePodGroup(object);
      if (!group.ok()) return Fail(where, path, MessageOf(group.status()));
      const NamespacedName key = group->key;
      if (IsFirst(kind, key, where, path)) out_.pod_groups.emplace(key, *std::move(group));
    } else if (kind == "PodDisruptionBudget" && version == "policy/v1") {
      ReadBudget(object, where, path);
    } else if (kind == "PriorityClass") {
      ReadPriorityClass(object, where, path);
    } else if (IsWorkload(version, kind)) {
      workloads_.push_back({object, kind, where, path});
    } else {
      ++out_.ignored[kind];
    }
  }

  // "default" is what every reader takes by itself.
  bool NeedsNamespace(const json& object, const std::string& kind) const {
    if (namespace_name_ == "default" || namespace_name_.empty() || IsClusterScoped(kind)) {
      return false;
    }
    const auto meta = object.find("metadata");
    if (meta == object.end() || !meta->is_object()) return false;
    const auto given = meta->find("namespace");
    return given == meta->end() || given->is_null() || *given == "";
  }

  void ReadBudget(const json& object, const std::string& where, const std::string& path) {
    auto budget = api::DecodeDisruptionBudget(object);
    if (!budget.ok()) return Fail(where, path, MessageOf(budget.status()));
    if (IsFirst("PodDisruptionBudget", KeyOf(budget->metadata), where, path)) {
      out_.budgets.push_back(*std::move(budget));
    }
  }

  void ReadPriorityClass(const json& object, const std::string& where, const std::string& path) {
    const auto value = object.find("value");
    const auto meta = object.find("metadata");
    const std::string name = meta != object.end() ? TextOf(*meta, "name") : "";
    if (name.empty() || value == object.end() || !value->is_number_integer() ||
        value->get<double>() < INT32_MIN || value->get<double>() > INT32_MAX) {
      Fail(where, path, "value: a PriorityClass has a name and a whole number as its value");
      return;
    }
    if (IsFirst("PriorityClass", {"", name}, where, path)) {
      priority_classes_[name] = value->get<std::int32_t>();
    }
  }

  // After everything else was read, because PriorityClasses may come later.
  void ExpandWorkloads() {
    for (const Workload& workload : workloads_) {
      absl::StatusOr<std::vector<json>> pods = PodsOfWorkload(workload.object);
      // What an API server has is there with its pods.
      const bool guessed = pods.ok() && pods->empty() && !IsOfServer(workload.object);
      if (guessed) pods = PodsIfAnnotated(workload.object);
      if (!pods.ok()) {
        Fail(workload.where, workload.path, MessageOf(pods.status()));
        continue;
      }
      if (pods->empty()) {
        ++out_.ignored[workload.kind];
        continue;
      }
      const auto source = std::make_shared<WorkloadSource>();
      source->kind = workload.kind;
      source->where = workload.where;
      source->key = {TextOf((*pods)[0]["metadata"], "namespace"),
                     TextOf(workload.object["metadata"], "name")};
      source->pods = PodsInAll(workload.object, static_cast<int>(pods->size()));
      source->guessed = guessed;
      if (!IsFirst(workload.kind, source->key, workload.where, workload.path)) continue;
      std::vector<std::shared_ptr<const api::Pod>> read;
      for (json& object : *pods) {
        json& spec = object["spec"];
        const auto named = priority_classes_.find(TextOf(spec, "priorityClassName"));
        if (named != priority_classes_.end() && !spec.contains("priority")) {
          spec["priority"] = named->second;
        }
        auto pod = api::DecodePod(object);
        if (!pod.ok()) {
          Fail(workload.where, workload.path + "template: ", MessageOf(pod.status()));
          break;
        }
        out_.workload_of_pod.emplace(KeyOf(pod->metadata), source);
        read.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
      }
      if (guessed) extender::GuessParallelism(/*min_pods=*/1, read);
      out_.expected_pods.insert(out_.expected_pods.end(), read.begin(), read.end());
    }
  }

  // TrainingJobs without a number take that of their class, as their pods will.
  void ResolvePriorities() {
    std::vector<api::TrainingJob> resolved;
    for (const auto& job : out_.cluster.jobs) {
      if (job->job.priority != 0) continue;
      const std::string name =
          !job->priority_class.empty() ? job->priority_class : job->pod_template.priority_class();
      const auto named = priority_classes_.find(name);
      if (named == priority_classes_.end()) continue;
      resolved.push_back(*job);
      resolved.back().job.priority = named->second;
    }
    for (api::TrainingJob& job : resolved) {
      out_.cluster.jobs.Put(std::make_shared<const api::TrainingJob>(std::move(job)));
    }
  }

  void ReadDevices(const json& object, const std::string& kind, const std::string& where,
                   const std::string& path) {
    state::DeviceTables& tables = out_.cluster.devices;
    if (kind == "ResourceSlice") {
      Keep(tables.slices, kind, devices::DecodeResourceSlice(object), where, path);
    } else if (kind == "DeviceClass") {
      Keep(tables.classes, kind, devices::DecodeDeviceClass(object), where, path);
    } else if (kind == "ResourceClaim") {
      Keep(tables.claims, kind, devices::DecodeResourceClaim(object), where, path);
    } else if (kind == "ResourceClaimTemplate") {
      Keep(tables.templates, kind, devices::DecodeResourceClaimTemplate(object), where, path);
    } else {
      ++out_.ignored[kind];
    }
  }

  void ReadOwn(const json& object, const std::string& kind, const std::string& where,
               const std::string& path) {
    if (kind == api::kFabricKind) {
      absl::StatusOr<api::Fabric> fabric = api::DecodeFabric(object);
      if (fabric.ok()) {
        for (const std::string& problem : fabric::Problems(fabric->spec)) {
          Fail(where, path, problem);
        }
      }
      Keep(out_.cluster.fabrics, kind, std::move(fabric), where, path);
    } else if (kind == api::kTrainingJobKind) {
      Keep(out_.cluster.jobs, kind, api::DecodeTrainingJob(object), where, path);
    } else if (kind == api::kGangKind) {
      Keep(out_.cluster.gangs, kind, api::DecodeGang(object), where, path);
    } else if (kind == api::kCapacityPoolKind) {
      absl::StatusOr<api::CapacityPool> pool = api::DecodeCapacityPool(object);
      if (!pool.ok()) return Fail(where, path, MessageOf(pool.status()));
      if (IsFirst(kind, {"", pool->metadata.name}, where, path)) {
        out_.pools.push_back(*std::move(pool));
      }
    } else {
      Fail(where, path,
           StrCat("kind: there is no ", kind, " in ", api::kGroup,
                  "; use Fabric, TrainingJob, Gang or CapacityPool"));
    }
  }

  template <typename T>
  void Keep(state::ObjectTable<T>& table, const std::string& kind, absl::StatusOr<T> decoded,
            const std::string& where, const std::string& path) {
    if (!decoded.ok()) {
      Fail(where, path, MessageOf(decoded.status()));
      return;
    }
    if (IsFirst(kind, KeyOf(decoded->metadata), where, path)) {
      table.Put(std::make_shared<const T>(*std::move(decoded)));
    }
  }

  // Notes where an object stands; false, and an error, where another one of its name was read
  // before.
  bool IsFirst(const std::string& kind, const NamespacedName& key, const std::string& where,
               const std::string& path) {
    const std::string object =
        StrCat(kind, " ", key.namespace_name.empty() ? key.name : key.text());
    const auto [it, fresh] = out_.origin.emplace(object, where);
    if (!fresh) {
      Fail(where, path,
           StrCat("metadata.name: ", object, " is there twice, first at ", it->second,
                  "; remove one"));
    }
    return fresh;
  }

  struct Workload {
    json object;
    std::string kind;
    std::string where;
    std::string path;
  };

  const std::string namespace_name_;
  Manifests out_;
  std::vector<Workload> workloads_;
  std::map<std::string, std::int32_t> priority_classes_;
  api::FieldErrors errors_;
};

}  // namespace

absl::StatusOr<Manifests> ReadManifests(const std::vector<std::string>& paths, std::istream& in,
                                        const ManifestDefaults& defaults) {
  ManifestReader reader(defaults);
  for (const std::string& path : paths) reader.ReadPath(path, in);
  return reader.Finish();
}

}  // namespace yardmaster::cli
