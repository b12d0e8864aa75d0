// Sets the traffic class of RoCE connections that choose none: the kernel's default per port of an
// RDMA device, rdma_cm/<device>/ports/<port>/default_roce_tos in configfs. It applies to
// connections of the RDMA connection manager (storage, MPI); NCCL sets its own class.
//
// The former values are stored in a file before the first change, and Restore() writes them back,
// also after a crash, because Apply reads that file first. Device names that are no plain file
// names are skipped.
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/base/status.h"

namespace yardmaster::agent {

class DefaultClass {
 public:
  // `configfs_root`: "/sys/kernel/config". `state_file`: stores the former values; its folder
  // exists.
  DefaultClass(std::string configfs_root, std::string state_file)
      : configfs_root_(std::move(configfs_root)), state_file_(std::move(state_file)) {}

  // Sets `traffic_class` (0 to 255) on the RDMA ports. Errors: FailedPrecondition for a port that
  // cannot be set, or a state file that cannot be written (nothing is changed then); the other
  // ports are set.
  absl::Status Apply(const std::vector<LocalNicPort>& ports, int traffic_class);
  // Restores the values that Apply of this or an earlier process found. Errors: FailedPrecondition;
  // what could not be restored stays in the file.
  absl::Status Restore();

 private:
  std::string PathOf(const std::string& port) const;
  absl::Status Save() const;
  absl::Status Load();

  const std::string configfs_root_;
  const std::string state_file_;
  std::map<std::string, std::string> previous_;  // "mlx5_0/1" -> value
};

}  // namespace yardmaster::agent
