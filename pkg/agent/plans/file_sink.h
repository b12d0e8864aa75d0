// Writes plan files into a folder: <dir>/<pod uid>.json, or <dir>/<node>/<pod uid>.json for an
// agent that serves several nodes. A file is written aside, synced and renamed. Its mode is 0644,
// so that containers of any user can read it.
//
// Names come from the API server and are checked before they are used in paths. Symbolic links are
// not followed: a link in place of a file is replaced; a link in place of a node's folder is an
// error.
//
// Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "pkg/agent/plans/plan_sink.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::agent {

enum class FolderPerNode { kNo, kYes };

class FileSink final : public PlanSink {
 public:
  // `node`: the node of all files if nodes have no folders of their own.
  FileSink(std::string dir, std::string node, FolderPerNode folders)
      : dir_(std::move(dir)), node_(std::move(node)), folders_(folders) {}

  // Creates the folder. Errors: FailedPrecondition with the reason of the operating system.
  absl::Status Prepare() const;

  absl::Status Write(const PlanFileId& id, const std::string& text) override;
  absl::Status Remove(const PlanFileId& id) override;
  // Also removes temporary files that a killed process left.
  absl::StatusOr<std::vector<PlanFileId>> List() override;
  std::string PathOf(const PlanFileId& id) const override;

 private:
  std::string FolderOf(const std::string& node) const;
  UniqueFd OpenFolder(const std::string& node) const;
  absl::Status ListFolder(const std::string& node, std::vector<PlanFileId>& out) const;

  const std::string dir_;
  const std::string node_;
  const FolderPerNode folders_;
};

}  // namespace yardmaster::agent
