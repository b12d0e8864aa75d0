#include "pkg/operator/jobs/refusal_reason.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

// As the API server writes it.
absl::Status Exceeded(const std::string& requested, const std::string& used,
                      const std::string& limited) {
  return absl::PermissionDeniedError(
      StrCat("POST /api/v1/namespaces/c/pods: pods \"a1-1\" is forbidden: exceeded quota: q, "
             "requested: ",
             requested, ", used: ", used, ", limited: ", limited, "; retry later"));
}

TEST(RefusalReasonTest, AQuotaIsNamedWithWhatItLacksForAllPodsOfTheJob) {
  const StallReason reason =
      RefusalReason(Exceeded("requests.nvidia.com/gpu=8", "requests.nvidia.com/gpu=32",
                             "requests.nvidia.com/gpu=32"),
                    {4, 3});
  EXPECT_EQ(reason.reason, kQuotaExceeded);
  EXPECT_EQ(reason.message,
            "spec.template: ResourceQuota q: requests.nvidia.com/gpu is short of 8: 4 pods need "
            "32, and others use 8 of 32; the job is tried again when pods of the namespace end; "
            "wait for that, or raise the quota");
}

TEST(RefusalReasonTest, AJobThatIsLargerThanTheQuotaIsToldSo) {
  const StallReason reason =
      RefusalReason(Exceeded("requests.nvidia.com/gpu=8", "requests.nvidia.com/gpu=24",
                             "requests.nvidia.com/gpu=24"),
                    {4, 3});
  EXPECT_EQ(reason.message,
            "spec.template: ResourceQuota q: requests.nvidia.com/gpu: 4 pods need 32, and the "
            "quota is 24 in all; raise the quota or make the job smaller");
}

TEST(RefusalReasonTest, EachResourceThatIsShortIsNamedInItsUnit) {
  const StallReason reason =
      RefusalReason(Exceeded("cpu=500m,memory=4Gi,pods=1", "cpu=1500m,memory=16Gi,pods=2",
                             "cpu=2,memory=16Gi,pods=10"),
                    {2, 0});
  EXPECT_NE(reason.message.find("cpu is short of 500m: 2 pods need 1, and others use 1500m of 2; "
                                "memory is short of 8Gi: 2 pods need 8Gi, and others use 16Gi"),
            std::string::npos)
      << reason.message;
  EXPECT_EQ(reason.message.find("pods is short"), std::string::npos) << reason.message;
}

TEST(RefusalReasonTest, ATextThatHasNoAmountsIsGivenAsItIs) {
  const StallReason reason =
      RefusalReason(absl::PermissionDeniedError("exceeded quota: gpus"), {4, 0});
  EXPECT_EQ(reason.reason, kQuotaExceeded);
  EXPECT_NE(reason.message.find("exceeded quota: gpus"), std::string::npos);
}

TEST(RefusalReasonTest, AQuotaThatWasNotCountedYetIsSaidToPass) {
  const StallReason reason = RefusalReason(
      absl::PermissionDeniedError("status unknown for quota: q, resources: requests.cpu"), {4, 0});
  EXPECT_EQ(reason.reason, kQuotaExceeded);
  EXPECT_NE(reason.message.find("has not been counted yet"), std::string::npos);
}

TEST(RefusalReasonTest, LimitRangesPodSecurityAndWebhooksRefuseToo) {
  const absl::Status refusals[] = {
      absl::PermissionDeniedError("maximum cpu usage per Pod is 1, but limit is 8"),
      absl::PermissionDeniedError("violates PodSecurity \"restricted:latest\": hostNetwork=true"),
      absl::PermissionDeniedError("admission webhook \"p.example\" denied the request: no"),
      absl::ResourceExhaustedError("admission webhook \"p.example\" denied the request: later"),
      absl::UnavailableError("Internal error occurred: failed calling webhook \"p.example\": EOF"),
      absl::InvalidArgumentError("Pod \"a-0\" is invalid: spec.containers[0].image: Required")};
  for (const absl::Status& refusal : refusals) {
    EXPECT_TRUE(IsRefusal(refusal)) << refusal;
    EXPECT_EQ(RefusalReason(refusal, {4, 2}).reason, kPodsRefused) << refusal;
  }
  for (const absl::Status& other :
       {absl::OkStatus(), absl::UnavailableError("no answer"), absl::AbortedError("conflict")}) {
    EXPECT_FALSE(IsRefusal(other)) << other;
  }
}

}  // namespace
}  // namespace yardmaster::op
