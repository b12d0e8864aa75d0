#include "pkg/extender/wire.h"

#include <simdjson.h>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// The value of `key` without regard to case, null or not; false when absent.
bool FindAny(const object& from, std::string_view key, element& out) {
  auto exact = from[key];
  if (exact.error() != simdjson::SUCCESS) exact = from.at_key_case_insensitive(key);
  if (exact.error() != simdjson::SUCCESS) return false;
  out = exact.value_unsafe();
  return true;
}

// As FindAny; false also for null.
bool Find(const object& from, std::string_view key, element& out) {
  return FindAny(from, key, out) && !out.is_null();
}

nlohmann::json Converted(const element& value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: {
      auto out = nlohmann::json::array();
      const simdjson::dom::array items = value.get_array().value_unsafe();
      for (element item : items) out.push_back(Converted(item));
      return out;
    }
    case simdjson::dom::element_type::OBJECT: {
      auto out = nlohmann::json::object();
      const object fields = value.get_object().value_unsafe();
      for (auto field : fields) {
        out[std::string(field.key)] = Converted(field.value);
      }
      return out;
    }
    case simdjson::dom::element_type::INT64:
      return value.get_int64().value_unsafe();
    case simdjson::dom::element_type::UINT64:
      return value.get_uint64().value_unsafe();
    case simdjson::dom::element_type::DOUBLE:
      return value.get_double().value_unsafe();
    case simdjson::dom::element_type::STRING:
      return std::string(value.get_string().value_unsafe());
    case simdjson::dom::element_type::BOOL:
      return value.get_bool().value_unsafe();
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

// Members of an object that `keep` accepts; another value as it is.
template <typename Keep>
nlohmann::json Part(const element& value, Keep keep) {
  object fields;
  if (value.get(fields)) return Converted(value);
  auto out = nlohmann::json::object();
  for (auto field : fields) {
    if (keep(field.key)) out[std::string(field.key)] = Converted(field.value);
  }
  return out;
}

// Most of a pod (volumes, environment, managed fields, status) decides nothing here.
nlohmann::json PodPart(const object& pod) {
  auto out = nlohmann::json::object();
  element part;
  if (FindAny(pod, "metadata", part)) {
    out["metadata"] = Part(part, [](std::string_view key) { return key != "managedFields"; });
  }
  if (!FindAny(pod, "spec", part)) return out;
  out["spec"] = Part(part, [](std::string_view key) {
    return key == "schedulingGates" || key == "overhead" || key == "resources";
  });
  object spec;
  if (part.get(spec)) return out;
  for (const char* list : {"containers", "initContainers"}) {
    element containers;
    if (!FindAny(spec, list, containers)) continue;
    simdjson::dom::array array;
    if (containers.get(array)) {
      out["spec"][list] = Converted(containers);
      continue;
    }
    auto& kept = out["spec"][list] = nlohmann::json::array();
    for (element container : array) {
      kept.push_back(Part(container, [](std::string_view key) {
        return key == "name" || key == "resources" || key == "restartPolicy";
      }));
    }
  }
  return out;
}

bool IsPlain(std::string_view text) {
  bool plain = true;
  for (const char c : text) plain &= static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  return plain;
}

void AppendQuoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  // An answer has many thousands of names, nearly all without a character to escape.
  if (IsPlain(text)) {
    out += text;
    out += '"';
    return;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

absl::Status Wrong(std::string_view key, std::string_view expected) {
  return FieldError(key, StrCat("expected ", expected),
                    "send kube-scheduler's ExtenderArgs (extender API v1)");
}

absl::StatusOr<object> ReadObject(simdjson::dom::parser& parser, std::string_view body) {
  element root;
  const auto error = parser.parse(body.data(), body.size()).get(root);
  if (error) return Wrong("body", StrCat("JSON (", simdjson::error_message(error), ")"));
  object args;
  if (root.get(args)) return Wrong("body", "a JSON object");
  return args;
}

absl::StatusOr<object> ReadRoot(simdjson::dom::parser& parser, std::string_view body,
                                nlohmann::json& pod_part) {
  YM_ASSIGN_OR_RETURN(const object args, ReadObject(parser, body));
  element pod;
  object fields;
  if (!Find(args, "Pod", pod) || pod.get(fields)) return Wrong("Pod", "a v1.Pod object");
  pod_part = PodPart(fields);
  return args;
}

absl::Status ReadNames(const object& args, ExtenderArgs& out) {
  element list;
  if (Find(args, "NodeNames", list)) {
    simdjson::dom::array names;
    if (list.get(names)) return Wrong("NodeNames", "an array of strings");
    out.node_names.reserve(names.size());
    for (element name : names) {
      std::string_view text;
      if (name.get(text)) return Wrong("NodeNames", "an array of strings");
      out.node_names.push_back(text);
    }
    return absl::OkStatus();
  }
  if (!Find(args, "Nodes", list)) {
    if (FindAny(args, "NodeNames", list) || FindAny(args, "Nodes", list)) return absl::OkStatus();
    return Wrong("NodeNames", "node names, or Nodes with full objects");
  }
  out.nodes_were_objects = true;
  object nodes;
  element items;
  if (list.get(nodes)) return Wrong("Nodes", "a v1.NodeList");
  if (!Find(nodes, "items", items)) return absl::OkStatus();
  simdjson::dom::array array;
  if (items.get(array)) return Wrong("Nodes.items", "an array of Nodes");
  for (element item : array) {
    std::string_view name;
    if (item.at_pointer("/metadata/name").get(name)) {
      return Wrong("Nodes.items[].metadata.name", "a string");
    }
    out.node_names.push_back(name);
    out.nodes.push_back(simdjson::minify(item));
  }
  return absl::OkStatus();
}

absl::StatusOr<PreemptCandidate> ReadCandidate(std::string_view node, const element& value) {
  PreemptCandidate candidate;
  candidate.node = std::string(node);
  object victims;
  element pods;
  if (value.get(victims) || !Find(victims, "Pods", pods)) return candidate;
  simdjson::dom::array array;
  if (pods.get(array)) return Wrong("Pods", "an array");
  for (element pod : array) {
    std::string_view uid;
    object fields;
    element found;
    if (pod.get(fields)) return Wrong("Pods[]", "objects");
    // MetaVictims carry UID; Victims carry whole pods.
    if (Find(fields, "UID", found)
            ? found.get(uid) != simdjson::SUCCESS
            : pod.at_pointer("/metadata/uid").get(uid) != simdjson::SUCCESS) {
      return Wrong("Pods[].UID", "a string");
    }
    candidate.victim_uids.emplace_back(uid);
  }
  element violations;
  std::int64_t number = 0;
  if (Find(victims, "NumPDBViolations", violations) && !violations.get(number)) {
    candidate.pdb_violations = number;
  }
  return candidate;
}

}  // namespace

struct ArgsReader::Parser {
  simdjson::dom::parser parser;
};

ArgsReader::ArgsReader() : parser_(std::make_unique<Parser>()) {}
ArgsReader::~ArgsReader() = default;

absl::StatusOr<ExtenderArgs> ArgsReader::Read(std::string_view body) {
  ExtenderArgs out;
  YM_ASSIGN_OR_RETURN(const object args, ReadRoot(parser_->parser, body, out.pod));
  YM_RETURN_IF_ERROR(ReadNames(args, out));
  return out;
}

absl::StatusOr<PreemptArgs> ArgsReader::ReadPreempt(std::string_view body) {
  PreemptArgs out;
  YM_ASSIGN_OR_RETURN(const object args, ReadRoot(parser_->parser, body, out.pod));
  element victims;
  if (!Find(args, "NodeNameToMetaVictims", victims) && !Find(args, "NodeNameToVictims", victims)) {
    if (FindAny(args, "NodeNameToMetaVictims", victims) ||
        FindAny(args, "NodeNameToVictims", victims)) {
      return out;
    }
    return Wrong("NodeNameToMetaVictims", "an object from node name to victims");
  }
  object by_node;
  if (victims.get(by_node)) return Wrong("NodeNameToMetaVictims", "an object");
  for (auto field : by_node) {
    YM_ASSIGN_OR_RETURN(PreemptCandidate candidate, ReadCandidate(field.key, field.value));
    out.candidates.push_back(std::move(candidate));
  }
  return out;
}

absl::StatusOr<BindArgs> ArgsReader::ReadBind(std::string_view body) {
  YM_ASSIGN_OR_RETURN(const object args, ReadObject(parser_->parser, body));
  BindArgs out;
  const std::pair<const char*, std::string*> keys[] = {{"PodNamespace", &out.namespace_name},
                                                       {"PodName", &out.name},
                                                       {"PodUID", &out.uid},
                                                       {"Node", &out.node}};
  for (const auto& [key, text] : keys) {
    element value;
    std::string_view found;
    if (!Find(args, key, value) || value.get(found) || found.empty()) {
      return Wrong(key, "a string that is not empty");
    }
    *text = std::string(found);
  }
  return out;
}

namespace {

// Which list of the answer a node is in.
enum class List { kKept, kFailed, kUnresolvable };

List ListOf(NodeVerdict verdict) {
  if (verdict == NodeVerdict::kFits) return List::kKept;
  return EvictionCanHelp(verdict) ? List::kFailed : List::kUnresolvable;
}

// The nodes of one list: names, or with reasons `"name":"reason"`.
void AppendNodes(std::string& out, const std::vector<std::string_view>& names,
                 const std::vector<NodeVerdict>& verdicts, List list) {
  bool first = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (ListOf(verdicts[i]) != list) continue;
    if (!first) out += ',';
    first = false;
    AppendQuoted(out, names[i]);
    if (list == List::kKept) continue;
    out += ":\"";
    out += Phrase(verdicts[i]);  // has no character to escape
    out += '"';
  }
}

// `nodes`: the value of "Nodes".
std::string FilterResult(const std::vector<std::string_view>& names,
                         const std::vector<NodeVerdict>& verdicts, std::string_view nodes) {
  // An answer about many nodes has megabytes: it is written once, where it will be sent from.
  constexpr std::size_t kPunctuation = 6;
  std::size_t bytes = nodes.size() + 128;
  for (std::size_t i = 0; i < names.size(); ++i) {
    bytes += names[i].size() + Phrase(verdicts[i]).size() + kPunctuation;
  }
  std::string out;
  out.reserve(bytes);
  out += R"({"Nodes":)";
  out += nodes;
  out += R"(,"NodeNames":[)";
  AppendNodes(out, names, verdicts, List::kKept);
  out += R"(],"FailedNodes":{)";
  AppendNodes(out, names, verdicts, List::kFailed);
  out += R"(},"FailedAndUnresolvableNodes":{)";
  AppendNodes(out, names, verdicts, List::kUnresolvable);
  out += R"(},"Error":""})";
  return out;
}

}  // namespace

std::string EncodeFilterAnswer(const ExtenderArgs& args, const std::vector<NodeVerdict>& verdicts) {
  if (!args.nodes_were_objects) return FilterResult(args.node_names, verdicts, "null");
  std::string items;
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    if (verdicts[i] != NodeVerdict::kFits) continue;
    if (!items.empty()) items += ',';
    items += args.nodes[i];
  }
  return FilterResult(args.node_names, verdicts,
                      StrCat(R"({"metadata":{},"items":[)", items, "]}"));
}

std::string EncodeBindResult(std::string_view error) {
  std::string out = R"({"Error":)";
  AppendQuoted(out, error);
  return out + "}";
}

std::string EncodeFilterError(std::string_view message) {
  std::string out = R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},)"
                    R"("FailedAndUnresolvableNodes":{},"Error":)";
  AppendQuoted(out, message);
  return out + "}";
}

std::string EncodeHostPriorities(const std::vector<std::string_view>& names,
                                 const std::vector<int>& scores) {
  std::string out = "[";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) out += ',';
    out += R"({"Host":)";
    AppendQuoted(out, names[i]);
    out += StrCat(R"(,"Score":)", scores[i], "}");
  }
  return out + "]";
}

std::string EncodePreemptResult(const std::vector<PreemptCandidate>& kept) {
  std::string out = R"({"NodeNameToMetaVictims":{)";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i != 0) out += ',';
    AppendQuoted(out, kept[i].node);
    out += R"(:{"Pods":[)";
    for (std::size_t v = 0; v < kept[i].victim_uids.size(); ++v) {
      out += v == 0 ? R"({"UID":)" : R"(,{"UID":)";
      AppendQuoted(out, kept[i].victim_uids[v]);
      out += '}';
    }
    out += StrCat(R"(],"NumPDBViolations":)", kept[i].pdb_violations, "}");
  }
  return out + "}}";
}

}  // namespace yardmaster::extender
