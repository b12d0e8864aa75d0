// Which node the holder of a ServiceAccount token runs on, as the API server says (TokenReview).
// Thread safety: all methods from any thread. Lifetimes: the client outlives it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/kube/client.h"

namespace yardmaster::op {

class NodeToken {
 public:
  // `account`: "namespace:name", whose tokens count; of `audience` only, so that a token that was
  // sent here is worth nothing at the API server.
  NodeToken(kube::Client& client, std::string account, std::string audience)
      : client_(client), account_(std::move(account)), audience_(std::move(audience)) {}

  // Errors: Unauthenticated for a token that does not count, and what the API server's answer was.
  absl::StatusOr<std::string> NodeOf(const std::string& token) const;

 private:
  kube::Client& client_;
  const std::string account_;
  const std::string audience_;
};

// What an answered TokenReview says. Errors: Unauthenticated.
absl::StatusOr<std::string> NodeOfReview(const nlohmann::json& review, const std::string& account,
                                         const std::string& audience);

}  // namespace yardmaster::op
