// Reads, on the host, files that the containers of a pod write into an emptyDir volume.
//
// A tenant can put anything there. Therefore only regular files are read, links are not followed,
// no read blocks, and at most as many bytes as the caller requests are read.
//
// Thread safety: the functions keep no state; they read the file system.
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

// True if the name is one path segment and not hidden.
bool IsFileName(std::string_view name);

// Opens the volume of the pod below kubelet's folder (/var/lib/kubelet/pods). Errors:
// InvalidArgument for a uid that is no folder name, NotFound if the pod has no such volume,
// FailedPrecondition if it cannot be read.
absl::StatusOr<UniqueFd> OpenPodVolume(const std::string& kubelet_pods_folder,
                                       const std::string& pod_uid, const std::string& volume);
// nullopt: the file does not exist or is no regular file.
std::optional<PodFile> ReadPodFile(const UniqueFd& volume, const std::string& name,
                                   std::size_t limit_bytes);

}  // namespace yardmaster::agent
