// Folders on the host that root makes for an agent that does not run as root.
//
// Who owns a folder may replace the files in it, also those of another owner, so files that an
// agent left there as root need no change.
//
// Thread safety: none of the functions keeps a state.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "absl/status/status.h"

namespace yardmaster::agent {

// The folders that an agent with these options writes to, ordered and each once: `plan_dir`, and
// the folder of each address of the form unix:/path.
std::vector<std::string> WrittenFolders(const std::string& plan_dir,
                                        const std::vector<std::string>& grpc_addresses);

// Makes each folder, with those above it, of that user and with the mode 0775. Its group stays as
// it is, root's where root made it, so that an agent of an earlier version, which is root without
// capabilities, may write there again after a rollback. A folder that exists keeps its files. A
// link that stands in the place of a folder is not followed. Errors: the folder that could not be
// made or given away; a process without CAP_CHOWN may give none away.
absl::Status HandOverFolders(const std::vector<std::string>& folders, uid_t owner);

}  // namespace yardmaster::agent
