// Reads what the shims in the containers did, as they recorded it (pkg/shim/report.h): planned
// against actual connections.
//
// The files are in the pod's own volume "yardmaster-status", so a tenant can write anything there.
// Only regular files are read, links are not followed, sizes and numbers are bounded, and a line of
// another form is counted and skipped.
//
// Thread safety: functions without state; they read the file system.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/json/json_view.h"

namespace yardmaster::agent {

struct ShimSummary {
  int processes = 0;   // processes that loaded a shim
  int steered = 0;     // connections with the planned port
  int unsteered = 0;   // planned connections without it
  int unplanned = 0;   // connections without a plan
  int kept_class = 0;  // connections whose traffic class the container chose
  int unreadable = 0;  // lines that cannot be parsed
  // Why planned connections are unsteered and others unplanned, in the words of the shim. At most
  // kMaxReasons; further ones are counted as "other".
  std::map<std::string, int> reasons;
  bool operator==(const ShimSummary&) const = default;
};

inline constexpr int kMaxReasons = 16;

// Summarizes the lines of files. A connection counts once, with its last line.
class ShimReader {
 public:
  void Add(std::string_view text);
  ShimSummary Summary() const;

 private:
  struct Connection {
    bool planned = false;
    bool steered = false;
    bool kept_class = false;
    std::string why;
  };
  void AddLine(JsonView line);

  int processes_ = 0;
  int unreadable_ = 0;
  // By process, device and queue pair; of sockets by process, peer and planned port.
  std::map<std::string, Connection> connections_;
};

// Reads at most 256 files *.jsonl of the pod's volume below kubelet's folder
// (/var/lib/kubelet/pods). Errors: InvalidArgument if the uid cannot be the name of a folder,
// NotFound if the pod does not have the volume, FailedPrecondition if the volume cannot be read.
absl::StatusOr<ShimSummary> ReadShimReports(const std::string& kubelet_pods_folder,
                                            const std::string& pod_uid);

}  // namespace yardmaster::agent
