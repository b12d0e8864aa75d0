#include "pkg/operator/telemetry/node_token.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kNodeName[] = "authentication.kubernetes.io/node-name";

kube::Resource TokenReviews() {
  return {"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
}

// The text at `path`, empty when there is none.
std::string TextAt(const json& object, const json::json_pointer& path) {
  if (!object.contains(path)) return "";
  const json& value = object.at(path);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

absl::StatusOr<std::string> NodeToken::NodeOf(const std::string& token) const {
  const json review = {{"apiVersion", "authentication.k8s.io/v1"},
                       {"kind", "TokenReview"},
                       {"spec", {{"token", token}, {"audiences", {audience_}}}}};
  YM_ASSIGN_OR_RETURN(const json answer, client_.Create({TokenReviews(), "", "", ""}, review));
  return NodeOfReview(answer, account_, audience_);
}

absl::StatusOr<std::string> NodeOfReview(const json& review, const std::string& account,
                                         const std::string& audience) {
  using Pointer = json::json_pointer;
  const Pointer authenticated("/status/authenticated");
  if (!review.contains(authenticated) || review.at(authenticated) != true) {
    return absl::UnauthenticatedError("the API server does not know this token");
  }
  const json none = json::array();
  const Pointer audiences("/status/audiences");
  // An API server that knows no audiences names none.
  if (const json& named = review.contains(audiences) ? review.at(audiences) : none;
      std::find(named.begin(), named.end(), audience) == named.end()) {
    return absl::UnauthenticatedError(StrCat("the token is not for ", audience));
  }
  const std::string user = TextAt(review, Pointer("/status/user/username"));
  if (user != StrCat("system:serviceaccount:", account)) {
    return absl::UnauthenticatedError(StrCat("the token is of ", user, ", not of ", account));
  }
  const json::json_pointer extra("/status/user/extra");
  if (review.contains(extra)) {
    const auto node = review.at(extra).find(kNodeName);
    if (node != review.at(extra).end() && node->is_array() && node->size() == 1 &&
        node->front().is_string() && !node->front().get<std::string>().empty()) {
      return node->front().get<std::string>();
    }
  }
  return absl::UnauthenticatedError("the token is bound to no node");
}

}  // namespace yardmaster::op
