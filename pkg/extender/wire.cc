#include "pkg/extender/wire.h"

#include <simdjson.h>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// The value of `key` without regard to case; nothing when absent or null.
bool Find(const object& from, std::string_view key, element& out) {
  auto exact = from[key];
  if (exact.error() != simdjson::SUCCESS) exact = from.at_key_case_insensitive(key);
  if (exact.error() != simdjson::SUCCESS || exact.is_null()) return false;
  out = exact.value_unsafe();
  return true;
}

void AppendQuoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
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

absl::StatusOr<object> ReadRoot(simdjson::dom::parser& parser, std::string_view body,
                                std::string& pod_json) {
  element root;
  const auto error = parser.parse(body.data(), body.size()).get(root);
  if (error) return Wrong("body", StrCat("JSON (", simdjson::error_message(error), ")"));
  object args;
  if (root.get(args)) return Wrong("body", "a JSON object");
  element pod;
  if (!Find(args, "Pod", pod) || !pod.is_object()) return Wrong("Pod", "a v1.Pod object");
  pod_json = simdjson::minify(pod);
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
  object nodes;
  element items;
  if (!Find(args, "Nodes", list) || list.get(nodes) || !Find(nodes, "items", items)) {
    return Wrong("NodeNames", "node names, or Nodes with full objects");
  }
  out.nodes_were_objects = true;
  simdjson::dom::array array;
  if (items.get(array)) return Wrong("Nodes.items", "an array of Nodes");
  for (element item : array) {
    std::string_view name;
    if (item.at_pointer("/metadata/name").get(name)) {
      return Wrong("Nodes.items[].metadata.name", "a string");
    }
    out.node_names.push_back(name);
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
  YM_ASSIGN_OR_RETURN(const object args, ReadRoot(parser_->parser, body, out.pod_json));
  YM_RETURN_IF_ERROR(ReadNames(args, out));
  return out;
}

absl::StatusOr<PreemptArgs> ArgsReader::ReadPreempt(std::string_view body) {
  PreemptArgs out;
  YM_ASSIGN_OR_RETURN(const object args, ReadRoot(parser_->parser, body, out.pod_json));
  element victims;
  if (!Find(args, "NodeNameToMetaVictims", victims) && !Find(args, "NodeNameToVictims", victims)) {
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

std::string EncodeFilterResult(const std::vector<std::string_view>& names,
                               const std::vector<Verdict>& verdicts) {
  std::string kept;
  std::string failed;
  std::string unresolvable;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (verdicts[i] == Verdict::kFits) {
      if (!kept.empty()) kept += ',';
      AppendQuoted(kept, names[i]);
      continue;
    }
    std::string& out = EvictionCanHelp(verdicts[i]) ? failed : unresolvable;
    if (!out.empty()) out += ',';
    AppendQuoted(out, names[i]);
    out += ':';
    AppendQuoted(out, Phrase(verdicts[i]));
  }
  return StrCat(R"({"Nodes":null,"NodeNames":[)", kept, R"(],"FailedNodes":{)", failed,
                R"(},"FailedAndUnresolvableNodes":{)", unresolvable, R"(},"Error":""})");
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
