// Relays what programs on the host observed of the network to the operator, as Node annotations.
//
//   <dir>/neighbours.json      what the NIC ports are plugged into, from an LLDP daemon
//   <dir>/observed-paths.json  where packets went, from traceroute or INT probes
//   (the option)               how the NICs choose paths by themselves
//   (a function)               neighbours that the agent reads itself, if there is no file
//
// The documents are those of docs/paths.md; the operator parses and checks them. The relay only
// requires a JSON object of at most 64 KiB. If a file is removed, its annotation is removed; if it
// never existed, an annotation that a user wrote is kept. With a folder per node the files of a
// node are in <dir>/<node>. A node is written at most once in `interval_ms`.
//
// Thread safety: Poll and Forget from one thread; counters from any. Lifetime: the client outlives
// the relay.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/agent/plans/file_sink.h"
#include "pkg/kube/client.h"

namespace yardmaster::agent {

struct RelayOptions {
  std::string dir;  // empty: no files
  FolderPerNode folders = FolderPerNode::kNo;
  // For example "adaptive-routing", "spectrum-x"; "none": the NICs do not choose; empty: another
  // component annotates the Node.
  std::string nic_load_balancing;
  std::int64_t interval_ms = 10'000;
  // The document of a host without neighbours.json; nullopt or no function: none.
  std::function<std::optional<std::string>()> neighbours = nullptr;
};

class ReportRelay {
 public:
  ReportRelay(kube::Client& client, RelayOptions options)
      : client_(client), options_(std::move(options)) {}

  // Returns the errors, one per node and document.
  std::vector<absl::Status> Poll(std::int64_t steady_ms, const std::vector<std::string>& nodes);
  // The Node was deleted: one that is recreated under its name gets its annotations at the next
  // Poll.
  void Forget(const std::string& node);
  std::int64_t writes() const { return writes_; }

 private:
  struct Node {
    std::map<std::string, std::string> written;  // annotation -> text, as last written
    std::int64_t next_ms = 0;
    bool forgotten = false;  // the Node may lack what was written
  };

  // Returns the file's text; nullopt if it does not exist. Errors: what is wrong with the document.
  absl::StatusOr<std::optional<std::string>> Read(const std::string& node,
                                                  const std::string& file) const;

  kube::Client& client_;
  const RelayOptions options_;
  std::map<std::string, Node> nodes_;
  std::atomic<std::int64_t> writes_ = 0;
};

}  // namespace yardmaster::agent
