#include "pkg/agent/host_folders.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::agent {

namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0775;
constexpr gid_t kSameGroup = static_cast<gid_t>(-1);

absl::Status HandOver(const std::string& path, uid_t owner) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return absl::FailedPreconditionError(
        StrCat("cannot make the folder ", path, ": ", error.message()));
  }
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  const bool given = folder.get() >= 0 && ::fstat(folder.get(), &status) == 0 &&
                     // Only the owner may change the mode, so before it is given away.
                     ((status.st_mode & 0777) == kMode || ::fchmod(folder.get(), kMode) == 0) &&
                     ::fchown(folder.get(), owner, kSameGroup) == 0;
  if (!given) {
    return absl::FailedPreconditionError(StrCat("cannot give the folder ", path, " to user ", owner,
                                                ": ", std::generic_category().message(errno)));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> WrittenFolders(const std::string& plan_dir,
                                        const std::vector<std::string>& grpc_addresses) {
  constexpr std::string_view kUnix = "unix:";
  std::set<std::string> folders = {plan_dir};
  for (const std::string& address : grpc_addresses) {
    if (address.substr(0, kUnix.size()) != kUnix) continue;
    const fs::path socket = address.substr(kUnix.size());
    if (socket.has_parent_path()) folders.insert(socket.parent_path().string());
  }
  return {folders.begin(), folders.end()};
}

absl::Status HandOverFolders(const std::vector<std::string>& folders, uid_t owner) {
  for (const std::string& folder : folders) YM_RETURN_IF_ERROR(HandOver(folder, owner));
  return absl::OkStatus();
}

}  // namespace yardmaster::agent
