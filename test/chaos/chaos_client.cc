#include "test/chaos/chaos_client.h"

#include <utility>

#include "nlohmann/json.hpp"

namespace yardmaster::chaos {

using kube::Call;
using kube::Target;
using kube::Verb;
using nlohmann::json;

namespace {

bool Reads(Verb verb) { return verb == Verb::kGet || verb == Verb::kList; }

}  // namespace

void Network::DeliverOne(Random& random) {
  if (late_.empty()) return;
  const auto at = late_.begin() + static_cast<std::ptrdiff_t>(random.Below(late_.size()));
  const std::function<void()> effect = std::move(*at);
  late_.erase(at);
  effect();
}

template <typename Answer>
Answer ChaosClient::Run(const Call& call, const std::function<Answer()>& effect) {
  if (killed_) return absl::CancelledError("the process was killed");
  if (cut_) return absl::UnavailableError("the network is cut");
  switch (fates_ ? fates_(call) : Fate::kDone) {
    case Fate::kDone:
      break;
    case Fate::kNotSent:
      return absl::UnavailableError("the connection was refused");
    case Fate::kAnswerLost:
      (void)effect();
      return absl::UnavailableError("the connection was cut");
    case Fate::kRetryConflicts:
      (void)effect();
      return absl::AbortedError("the object has been modified");
    case Fate::kDelayed:
      if (!Reads(call.verb)) network_.Add([effect] { (void)effect(); });
      return absl::DeadlineExceededError("no answer in time");
    case Fate::kStalled:
      if (stall_) stall_();
      if (killed_) return absl::CancelledError("the process was killed");
      break;
    case Fate::kKilledAfter:
      (void)effect();
      killed_ = true;
      return absl::CancelledError("the process was killed");
    case Fate::kKilledBefore:
      killed_ = true;
      return absl::CancelledError("the process was killed");
  }
  return effect();
}

absl::StatusOr<json> ChaosClient::Get(const Target& target) {
  return Run<absl::StatusOr<json>>({Verb::kGet, target, nullptr},
                                   [&server = server_, target] { return server.Get(target); });
}

absl::StatusOr<kube::PageEnd> ChaosClient::ReadPage(const Target& target,
                                                    const kube::ListOptions& options,
                                                    const kube::OnObject& on_object) {
  return Run<absl::StatusOr<kube::PageEnd>>({Verb::kList, target, nullptr},
                                            [&server = server_, target, options, on_object] {
                                              return server.ReadPage(target, options, on_object);
                                            });
}

absl::StatusOr<json> ChaosClient::Create(const Target& target, const json& object,
                                         const kube::WriteOptions& options) {
  return Run<absl::StatusOr<json>>({Verb::kCreate, target, object},
                                   [&server = server_, target, object, options] {
                                     return server.Create(target, object, options);
                                   });
}

absl::StatusOr<json> ChaosClient::Replace(const Target& target, const json& object,
                                          const kube::WriteOptions& options) {
  return Run<absl::StatusOr<json>>({Verb::kReplace, target, object},
                                   [&server = server_, target, object, options] {
                                     return server.Replace(target, object, options);
                                   });
}

absl::StatusOr<json> ChaosClient::Patch(const Target& target, const kube::PatchBody& patch,
                                        const kube::WriteOptions& options) {
  return Run<absl::StatusOr<json>>(
      {Verb::kPatch, target, nullptr},
      [&server = server_, target, patch, options] { return server.Patch(target, patch, options); });
}

absl::Status ChaosClient::Delete(const Target& target, const kube::DeleteOptions& options) {
  return Run<absl::Status>({Verb::kDelete, target, nullptr}, [&server = server_, target, options] {
    return server.Delete(target, options);
  });
}

absl::Status ChaosClient::Watch(const Target&, const kube::WatchOptions&, std::stop_token,
                                const std::function<void(const kube::WatchEvent&)>&) {
  return absl::UnimplementedError("no watches here");
}

}  // namespace yardmaster::chaos
