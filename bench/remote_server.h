// An API server in memory (pkg/kube/testing/fake_client.h) in a process of its own, so that a
// benchmark's memory and processor time are those of the code it measures. Requests and answers are
// JSON text over a socket, as they are on the way to a real API server; watches and lists are not
// offered.
//
// Of WriteOptions only the field manager is sent, and that not by Patch; of DeleteOptions the uid
// and the grace period. Errors of the socket abort the process.
//
// Thread safety: all methods of RemoteServer from any thread; each call that runs at the same time
// has a connection of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/unique_fd.h"
#include "pkg/kube/client.h"

namespace yardmaster::bench {

class RemoteServer final : public kube::Client {
 public:
  // Forks: call it before the process has threads. The server ends with the thread that calls this,
  // or in the destructor. A process can have one RemoteServer at a time.
  RemoteServer();
  ~RemoteServer() override;

  absl::StatusOr<nlohmann::json> Get(const kube::Target& target) override;
  absl::StatusOr<nlohmann::json> Create(const kube::Target& target, const nlohmann::json& object,
                                        const kube::WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Replace(const kube::Target& target, const nlohmann::json& object,
                                         const kube::WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Patch(const kube::Target& target, const kube::PatchBody& patch,
                                       const kube::WriteOptions& options) override;
  absl::Status Delete(const kube::Target& target, const kube::DeleteOptions& options) override;
  // Unimplemented.
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override;
  absl::Status Watch(const kube::Target& target, const kube::WatchOptions& options,
                     std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override;

  // As FakeClient has them. Seed returns the object as it is stored.
  nlohmann::json Seed(const kube::Resource& resource, const nlohmann::json& object);
  std::optional<nlohmann::json> Find(const kube::Resource& resource, const std::string& ns,
                                     const std::string& name);
  // From now on, or no longer, one write of twenty fails, with ResourceExhausted "429" and
  // Unavailable
  // "500" in turn.
  void Disturb(bool disturbed);
  // Resident memory of the server's process.
  std::int64_t ResidentMiB();

 private:
  absl::StatusOr<nlohmann::json> Ask(nlohmann::json request);

  const std::string name_;  // of the socket, in the abstract namespace
  std::mutex mutex_;
  std::vector<UniqueFd> idle_;  // connections, under mutex_
  int server_ = 0;              // process id
};

// Resident memory of the calling process.
std::int64_t OwnResidentMiB();

}  // namespace yardmaster::bench
