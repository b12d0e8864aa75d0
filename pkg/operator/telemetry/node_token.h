// Finds the node on which the holder of a ServiceAccount token runs, by a TokenReview of the API
// server.
//
// Thread safety: all methods from any thread. Lifetimes: the client outlives it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/kube/client.h"

namespace yardmaster::op {

class NodeToken {
 public:
  // Accepts only tokens of the ServiceAccount `account` ("namespace:name") for `audience`. The API
  // server does not accept tokens for another audience, so a stolen one is useless there.
  NodeToken(kube::Client& client, std::string account, std::string audience)
      : client_(client), account_(std::move(account)), audience_(std::move(audience)) {}

  // Errors: Unauthenticated if the token is not accepted; errors of the API server are returned
  // unchanged.
  absl::StatusOr<std::string> NodeOf(const std::string& token) const;

 private:
  kube::Client& client_;
  const std::string account_;
  const std::string audience_;
};

// Returns the node that an answered TokenReview names. Errors: Unauthenticated.
absl::StatusOr<std::string> NodeOfReview(const nlohmann::json& review, const std::string& account,
                                         const std::string& audience);

}  // namespace yardmaster::op
