#include "pkg/extender/webhook/wire.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

// The value of `key` without regard to case.
JsonView Field(JsonView object, std::string_view key) {
  if (const JsonView exact = object[key]; exact.present()) return exact;
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  JsonView found;
  object.ForEachMember([&](std::string_view name, JsonView value) {
    if (std::equal(name.begin(), name.end(), key.begin(), key.end(), same)) found = value;
  });
  return found;
}

bool IsGiven(JsonView value) { return value.present() && !value.is_null(); }

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

absl::StatusOr<JsonView> ReadPod(JsonView args) {
  const JsonView pod = Field(args, "Pod");
  if (!pod.is_object()) return Wrong("Pod", "a v1.Pod object");
  return pod;
}

absl::Status ReadNames(JsonView args, ExtenderArgs& out) {
  const JsonView names = Field(args, "NodeNames"), nodes = Field(args, "Nodes");
  bool sound = true;
  const auto add = [&](std::optional<std::string_view> name) {
    sound &= name.has_value();
    out.node_names.push_back(name.value_or(""));
  };
  if (IsGiven(names)) {
    names.ForEachElement([&](JsonView name) { add(name.String()); });
    if (names.is_array() && sound) return absl::OkStatus();
    return Wrong("NodeNames", "an array of strings");
  }
  if (!IsGiven(nodes)) {
    if (names.present() || nodes.present()) return absl::OkStatus();
    return Wrong("NodeNames", "node names, or Nodes with full objects");
  }
  out.nodes_were_objects = true;
  if (!nodes.is_object()) return Wrong("Nodes", "a v1.NodeList");
  const JsonView items = Field(nodes, "items");
  if (!IsGiven(items)) return absl::OkStatus();
  if (!items.is_array()) return Wrong("Nodes.items", "an array of Nodes");
  items.ForEachElement([&](JsonView node) {
    add(node.At({"metadata", "name"}).String());
    out.nodes.push_back(node);
  });
  if (!sound) return Wrong("Nodes.items[].metadata.name", "a string");
  return absl::OkStatus();
}

absl::StatusOr<PreemptCandidate> ReadCandidate(std::string_view node, JsonView victims) {
  PreemptCandidate candidate;
  candidate.node = std::string(node);
  const JsonView pods = Field(victims, "Pods");
  if (!IsGiven(pods)) return candidate;
  if (!pods.is_array()) return Wrong("Pods", "an array");
  bool sound = true;
  pods.ForEachElement([&](JsonView pod) {
    // MetaVictims carry UID; Victims carry whole pods.
    const JsonView own = Field(pod, "UID");
    const auto uid = (IsGiven(own) ? own : pod.At({"metadata", "uid"})).String();
    sound &= uid.has_value();
    candidate.victim_uids.emplace_back(uid.value_or(""));
  });
  if (!sound) return Wrong("Pods[].UID", "a string");
  candidate.pdb_violations = Field(victims, "NumPDBViolations").WholeNumber().value_or(0);
  return candidate;
}

}  // namespace

absl::StatusOr<JsonView> ArgsReader::Parse(std::string_view body) {
  const auto root = parser_.Parse(body);
  if (!root.ok()) return Wrong("body", StrCat("JSON (", MessageOf(root.status()), ")"));
  if (!root->is_object()) return Wrong("body", "a JSON object");
  return *root;
}

absl::StatusOr<ExtenderArgs> ArgsReader::Read(std::string_view body) {
  ExtenderArgs out;
  YM_ASSIGN_OR_RETURN(const JsonView args, Parse(body));
  YM_ASSIGN_OR_RETURN(out.pod, ReadPod(args));
  YM_RETURN_IF_ERROR(ReadNames(args, out));
  return out;
}

absl::StatusOr<PreemptArgs> ArgsReader::ReadPreempt(std::string_view body) {
  PreemptArgs out;
  YM_ASSIGN_OR_RETURN(const JsonView args, Parse(body));
  YM_ASSIGN_OR_RETURN(out.pod, ReadPod(args));
  const JsonView meta = Field(args, "NodeNameToMetaVictims");
  const JsonView by_node = IsGiven(meta) ? meta : Field(args, "NodeNameToVictims");
  if (!IsGiven(by_node)) {
    if (meta.present() || by_node.present()) return out;
    return Wrong("NodeNameToMetaVictims", "an object from node name to victims");
  }
  if (!by_node.is_object()) return Wrong("NodeNameToMetaVictims", "an object");
  absl::Status sound;
  by_node.ForEachMember([&](std::string_view node, JsonView victims) {
    auto candidate = ReadCandidate(node, victims);
    sound.Update(candidate.status());
    if (candidate.ok()) out.candidates.push_back(*std::move(candidate));
  });
  YM_RETURN_IF_ERROR(sound);
  return out;
}

absl::StatusOr<BindArgs> ArgsReader::ReadBind(std::string_view body) {
  YM_ASSIGN_OR_RETURN(const JsonView args, Parse(body));
  BindArgs out;
  const std::pair<const char*, std::string*> keys[] = {{"PodNamespace", &out.namespace_name},
                                                       {"PodName", &out.name},
                                                       {"PodUID", &out.uid},
                                                       {"Node", &out.node}};
  for (const auto& [key, text] : keys) {
    *text = Field(args, key).Text();
    if (text->empty()) return Wrong(key, "a string that is not empty");
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
    items += args.nodes[i].ToJson().dump();
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
