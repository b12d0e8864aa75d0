#include "pkg/agent/plans/shim_report.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>
#include <vector>

#include "pkg/agent/plans/pod_volume.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::agent {

namespace {

constexpr std::size_t kMaxReportBytes = 1024 * 1024 + 4096;
constexpr int kMaxFiles = 256;
constexpr std::size_t kMaxLine = 1024;
constexpr std::size_t kMaxConnections = 65'536;
constexpr std::size_t kMaxReasonBytes = 64;

std::int64_t Whole(JsonView number) { return number.WholeNumber().value_or(0); }

}  // namespace

void ShimReader::Add(std::string_view text) {
  JsonParser parser;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;  // a line that is being written
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.empty()) continue;
    const auto parsed = line.size() <= kMaxLine ? parser.Parse(line) : JsonView();
    AddLine(parsed.ok() ? *parsed : JsonView());
  }
}

void ShimReader::AddLine(JsonView line) {
  const std::string event = line["event"].Text();
  if (event == "loaded") {
    ++processes_;
    return;
  }
  const bool known = event == "connected" || event == "passed" || event == "steered";
  if (!known) {
    if (event != "accepted" && event != "full") ++unreadable_;
    return;
  }
  const std::string key = StrCat(
      Whole(line["pid"]), "/", line["device"].Text(), "/", Whole(line["qp"]), "/",
      // Sockets have no queue pair.
      Whole(line["qp"]) == 0 ? StrCat(line["peer"].Text(), ":", Whole(line["planned"])) : "");
  if (connections_.size() >= kMaxConnections && connections_.count(key) == 0) return;
  const std::int64_t planned = Whole(line["planned"]);
  const bool has_it = planned != 0 && Whole(line["actual"]) == planned;
  Connection& connection = connections_[key];
  // What follows RTS adds to what was set on the way to RTR.
  if (event == "steered" && !has_it) return;
  std::string why(CutAtCharacter(line["why"].Text(), kMaxReasonBytes));
  connection = {planned != 0, has_it, event == "connected" && has_it && !why.empty(),
                std::move(why)};
}

ShimSummary ShimReader::Summary() const {
  ShimSummary summary;
  summary.processes = processes_;
  summary.unreadable = unreadable_;
  for (const auto& [key, connection] : connections_) {
    if (connection.steered) {
      ++summary.steered;
    } else {
      ++(connection.planned ? summary.unsteered : summary.unplanned);
    }
    summary.kept_class += connection.kept_class ? 1 : 0;
    if (connection.why.empty()) continue;
    const bool room = static_cast<int>(summary.reasons.size()) < kMaxReasons - 1;
    const bool there = summary.reasons.count(connection.why) > 0;
    ++summary.reasons[room || there ? connection.why : "other"];
  }
  return summary;
}

absl::StatusOr<ShimSummary> ReadShimReports(const std::string& kubelet_pods_folder,
                                            const std::string& pod_uid) {
  YM_ASSIGN_OR_RETURN(const UniqueFd folder,
                      OpenPodVolume(kubelet_pods_folder, pod_uid, "yardmaster-status"));
  const int listing = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listing), &::closedir);
  if (entries == nullptr) {
    if (listing >= 0) ::close(listing);
    return absl::FailedPreconditionError(StrCat("cannot list yardmaster-status of pod ", pod_uid));
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (!IsFileName(name) || static_cast<int>(names.size()) >= kMaxFiles) continue;
    if (name.size() > 6 && name.substr(name.size() - 6) == ".jsonl") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  ShimReader reader;
  for (const std::string& name : names) {
    const auto file = ReadPodFile(folder, name, kMaxReportBytes);
    if (file) reader.Add(file->text);
  }
  return reader.Summary();
}

}  // namespace yardmaster::agent
