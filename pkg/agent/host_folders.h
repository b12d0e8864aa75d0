// Creates folders on the host, as root, for an agent that does not run as root.
//
// The owner of a folder may replace files in it that another user owns. So files that an agent left
// there as root need no change.
//
// Thread safety: the functions keep no state.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "absl/status/status.h"

namespace yardmaster::agent {

// Returns the folders to which an agent with these options writes, ordered, without duplicates:
// `plan_dir`, and the folder of each address of the form unix:/path.
std::vector<std::string> WrittenFolders(const std::string& plan_dir,
                                        const std::vector<std::string>& grpc_addresses);

// Creates each folder and its parents, with that owner and mode 0775. The group does not change
// (root's if root created the folder), so that an agent of an earlier version, which is root
// without capabilities, can write there again after a rollback. An existing folder keeps its files.
// A symbolic link in place of a folder is not followed. Errors: names the folder that could not be
// created or given away; a process without CAP_CHOWN cannot give any away.
absl::Status HandOverFolders(const std::vector<std::string>& folders, uid_t owner);

}  // namespace yardmaster::agent
