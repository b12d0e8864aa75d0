// Reads the link state of the nodes' NIC ports and writes, when it has changed for some time, the
// Node annotation yardmaster.dev/down-ports; with it yardmaster.dev/lossy-ports, the ports that
// lose packets while they are up (ports/port_loss.h).
//
// A process always writes its first reading of the links, since the annotation may be an earlier
// process's. Ports that an earlier process found lossy remain so until they are clean. A
// write that fails is tried again with every Poll; where lossy-ports are refused (by an admission
// policy that does not know them), down-ports are written alone, and lossy-ports are tried again
// with every interval of the loss. Ports found by discovery count only when there
// are as many as the fabric says; otherwise the rail of a device is unknown, and nothing is
// written.
//
// With a folder per node, a node's tree is <sysfs_root>/<node>, and nodes without one are left
// alone; so tests can give a dead port to an agent that serves simulated nodes.
//
// Thread safety: Poll from one thread; the others from any. Lifetime: the client outlives
// it.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/agent/plans/file_sink.h"
#include "pkg/agent/ports/link_debouncer.h"
#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/agent/ports/port_counters.h"
#include "pkg/agent/ports/port_loss.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/rpc/agent_status.h"

namespace yardmaster::agent {

struct LinkOptions {
  std::string sysfs_root;
  FolderPerNode folders = FolderPerNode::kNo;
  std::vector<LocalNicPort> ports;  // empty: found by discovery
  DebounceTimes times;
  LossLimits loss = {};
};

class LinkReporter {
 public:
  LinkReporter(kube::Client& client, LinkOptions options)
      : client_(client), options_(std::move(options)) {}

  // What went wrong, one status a node; empty: nothing.
  std::vector<absl::Status> Poll(std::int64_t steady_ms, const std::vector<std::string>& nodes,
                                 const std::optional<FabricView>& fabric);

  // The Node was deleted: one that is recreated under its name gets the annotation at the next
  // Poll. On the polling thread.
  void Forget(const std::string& node);

  // Calls `on_down` with a node's ports that are down, at the node's first reading and at every
  // change, before the annotation is written; on the polling thread. Set it before the first Poll.
  using OnDownPorts = std::function<void(const std::string& node, const std::vector<PortKey>&)>;
  void OnDown(OnDownPorts on_down) { on_down_ = std::move(on_down); }

  // As last read, in the order of node, rail and port.
  std::vector<rpc::LinkStatus> links() const;
  struct PortReading {
    std::string node;
    std::string device;
    PortCounters counters;
  };
  // Of the ports of the last Poll, read now.
  std::vector<PortReading> ReadCounters() const;
  struct PortLoss {
    std::string node;
    std::string device;
    int per_million = 0;  // frames
  };
  // As of the last Poll.
  std::vector<PortLoss> lossy() const;
  std::int64_t writes() const { return writes_; }
  std::int64_t failures() const { return failures_; }

 private:
  struct Texts {  // of the annotations
    std::string down;
    std::string lossy;
  };
  struct Node {
    explicit Node(const LinkOptions& options) : debouncer(options.times), finder(options.loss) {}
    LinkDebouncer debouncer;
    LossFinder finder;
    std::vector<LocalNicPort> ports;
    std::optional<std::vector<PortKey>> down;
    std::vector<api::LossyPort> lossy;
    std::int64_t next_loss_ms = std::numeric_limits<std::int64_t>::min();  // to be looked for
    bool adopted = false;  // knows what an earlier process had found
    std::optional<std::string> written_down, written_lossy;                       // as last written
    std::int64_t next_lossy_write_ms = std::numeric_limits<std::int64_t>::min();  // not before
  };
  // What a Poll has seen, in the same order.
  struct Seen {
    std::vector<rpc::LinkStatus> links;
    std::vector<LocalNicPort> ports;
    std::vector<PortLoss> lossy;  // in their own order
  };

  absl::Status PollNode(std::int64_t steady_ms, const std::string& name, Node& node,
                        const std::optional<FabricView>& fabric, Seen& seen);
  absl::Status FindPorts(const std::string& root, const std::optional<FabricView>& fabric,
                         Node& node) const;
  void FindLoss(std::int64_t steady_ms, const std::string& name, Node& node, Seen& seen) const;
  absl::Status WritePorts(std::int64_t steady_ms, const std::string& name, Node& node,
                          const Texts& texts);
  std::string RootOf(const std::string& node) const;

  kube::Client& client_;
  const LinkOptions options_;
  OnDownPorts on_down_;
  std::map<std::string, Node> nodes_;  // the polling thread's alone
  mutable Mutex mutex_;
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> writes_ = 0;
  std::atomic<std::int64_t> failures_ = 0;
};

}  // namespace yardmaster::agent
