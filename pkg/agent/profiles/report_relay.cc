#include "pkg/agent/profiles/report_relay.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/annotation.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

struct Document {
  const char* file;
  const char* annotation;
};
constexpr Document kDocuments[] = {{"neighbours.json", api::kNeighboursAnnotation},
                                   {"observed-paths.json", api::kObservedPathsAnnotation}};

}  // namespace

absl::StatusOr<std::optional<std::string>> ReportRelay::Read(const std::string& node,
                                                             const std::string& file) const {
  const std::string folder =
      options_.folders == FolderPerNode::kNo ? options_.dir : StrCat(options_.dir, "/", node);
  const std::string path = StrCat(folder, "/", file);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::optional<std::string>();
  std::ifstream in(path, std::ios::binary);
  std::string text(api::kMaxAnnotationBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return absl::UnavailableError(StrCat(path, " cannot be read"));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > api::kMaxAnnotationBytes) {
    return FieldError(path, StrCat("is longer than ", api::kMaxAnnotationBytes, " bytes"),
                      "report fewer ports or paths at a time");
  }
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return FieldError(path, "is not a JSON object", "see docs/paths.md");
  // Compact, and the same text for the same content.
  return std::optional(document.dump());
}

void ReportRelay::Forget(const std::string& node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  at->second.forgotten = true;
  at->second.next_ms = 0;
}

std::vector<absl::Status> ReportRelay::Poll(std::int64_t steady_ms,
                                            const std::vector<std::string>& nodes) {
  std::vector<absl::Status> errors;
  for (const std::string& name : nodes) {
    Node& node = nodes_[name];
    if (steady_ms < node.next_ms) continue;
    std::map<std::string, std::string> wanted;
    if (!options_.nic_load_balancing.empty()) {
      wanted[api::kNicLoadBalancingAnnotation] = options_.nic_load_balancing;
    }
    for (const Document& document : kDocuments) {
      if (options_.dir.empty()) break;
      auto text = Read(name, document.file);
      if (!text.ok()) {
        errors.push_back(Annotate(text.status(), StrCat("node ", name)));
        // What stood there before still does.
        const auto written = node.written.find(document.annotation);
        if (written != node.written.end()) wanted.insert(*written);
      } else if (*text) {
        wanted[document.annotation] = **std::move(text);
      }
    }
    if (options_.neighbours && wanted.count(api::kNeighboursAnnotation) == 0) {
      if (auto document = options_.neighbours()) {
        wanted[api::kNeighboursAnnotation] = *std::move(document);
      }
    }
    if (wanted == node.written && (!node.forgotten || wanted.empty())) continue;
    nlohmann::json annotations = nlohmann::json::object();
    for (const auto& [key, text] : wanted) annotations[key] = text;
    for (const auto& [key, text] : node.written) {
      if (wanted.count(key) == 0) annotations[key] = nullptr;
    }
    node.next_ms = steady_ms + options_.interval_ms;
    const absl::Status written = AnnotateNode(client_, name, annotations).status();
    if (!written.ok()) {
      errors.push_back(Annotate(written, StrCat("node ", name)));
      continue;
    }
    node.written = std::move(wanted);
    node.forgotten = false;
    ++writes_;
  }
  return errors;
}

}  // namespace yardmaster::agent
