// Files that the containers of a pod write into an emptyDir volume, read on the host.
//
// A tenant can put anything there: nothing but regular files is read, links are not followed, no
// read waits, and at most as many bytes as the caller asks for are taken.
//
// Thread safety: functions without state; they read the file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/base/unique_fd.h"

namespace yardmaster::agent {

struct PodFile {
  std::string text;
  std::int64_t modified_ms = 0;  // wall time
};

// One path segment that is not hidden.
bool IsFileName(std::string_view name);

// The volume of the pod below kubelet's folder (/var/lib/kubelet/pods). Errors: InvalidArgument for
// a uid that is no folder name, NotFound when the pod has no such volume, FailedPrecondition when
// it cannot be read.
absl::StatusOr<UniqueFd> OpenPodVolume(const std::string& kubelet_pods_folder,
                                       const std::string& pod_uid, const std::string& volume);
// Nothing: it is not there, or no regular file.
std::optional<PodFile> ReadPodFile(const UniqueFd& volume, const std::string& name,
                                   std::size_t limit_bytes);

}  // namespace yardmaster::agent
