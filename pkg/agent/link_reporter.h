// LinkReporter reads the link states of the nodes' NIC ports and writes two annotations on the
// Node: yardmaster.dev/down-ports, once a change has lasted for some time, and
// yardmaster.dev/lossy-ports, the ports that are up and lose packets (ports/port_loss.h).
//
//   - A process always writes its first reading of the links, because the annotation may be from an
//     earlier process. Ports that an earlier process reported as lossy stay reported until they are
//     clean.
//   - Each Poll repeats a write that has failed. If an admission policy rejects lossy-ports, the
//     reporter writes down-ports alone, and tries lossy-ports again after each loss interval.
//   - Discovered ports are used only if there are as many as the Fabric says. Otherwise the rail of
//     a device is unknown and the reporter writes nothing.
//   - With a folder per node, the files of a node are under <sysfs_root>/<node>, and nodes without
//     such a folder are ignored. So tests can give an agent of simulated nodes a dead port.
//
// Thread safety: Poll and Forget from one thread; the others from any. Lifetimes: the client
// outlives the reporter.
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

  // Returns the errors, at most one per node.
  std::vector<absl::Status> Poll(std::int64_t steady_ms, const std::vector<std::string>& nodes,
                                 const std::optional<FabricView>& fabric);

  // Called when the Node is deleted: a new Node of that name gets the annotations at the next Poll.
  // On the polling thread.
  void Forget(const std::string& node);

  // Sets a function that is called with the ports of a node that are down, at the first reading and
  // at every change, before the annotation is written. It is called on the polling thread.
  // REQUIRES: called before the first Poll.
  using OnDownPorts = std::function<void(const std::string& node, const std::vector<PortKey>&)>;
  void OnDown(OnDownPorts on_down) { on_down_ = std::move(on_down); }

  // The links as last read, by node, rail and port.
  std::vector<rpc::LinkStatus> links() const;
  struct PortReading {
    std::string node;
    std::string device;
    PortCounters counters;
  };
  // Reads the counters of the ports of the last Poll.
  std::vector<PortReading> ReadCounters() const;
  struct PortLoss {
    std::string node;
    std::string device;
    int per_million = 0;  // frames
  };
  // The lossy ports of the last Poll.
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
    std::int64_t next_loss_ms = std::numeric_limits<std::int64_t>::min();  // next search for loss
    bool adopted = false;  // the ports that an earlier process found are known
    std::optional<std::string> written_down, written_lossy;  // last written values
    std::int64_t next_lossy_write_ms = std::numeric_limits<std::int64_t>::min();  // not before
  };
  // The results of a Poll, in the same order.
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
  std::map<std::string, Node> nodes_;  // used by the polling thread only
  mutable Mutex mutex_;
  Seen seen_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> writes_ = 0;
  std::atomic<std::int64_t> failures_ = 0;
};

}  // namespace yardmaster::agent
