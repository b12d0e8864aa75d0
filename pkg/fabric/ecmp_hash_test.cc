#include "pkg/fabric/ecmp_hash.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

HashSpec Of(HashKind kind) {
  HashSpec spec;
  spec.kind = kind;
  if (kind == HashKind::kLinux) spec.seed = 1;
  return spec;
}

IngressPortHash Ports(int first, int last) {
  IngressPortHash ports;
  ports.first = first;
  ports.last = last;
  return ports;
}

constexpr HashKind kAllKinds[] = {HashKind::kCrc,   HashKind::kRtag7,        HashKind::kSai,
                                  HashKind::kXor16, HashKind::kToeplitz,     HashKind::kBmv2,
                                  HashKind::kLinux, HashKind::kUnpredictable};

TEST(EcmpHashTest, EveryModelIsValidAsItComes) {
  for (const HashKind kind : kAllKinds) {
    EXPECT_THAT(Problems(Of(kind), "hash"), IsEmpty()) << static_cast<int>(kind);
  }
}

TEST(EcmpHashTest, WhatCannotBePredictedHasNoParametersToBeWrong) {
  HashSpec spec = Of(HashKind::kUnpredictable);
  spec.fields.clear();
  spec.rotate_right = -1;
  EXPECT_THAT(Problems(spec, "hash"), IsEmpty());
}

struct Spoilt {
  HashKind kind;
  const char* field;
  std::function<void(HashSpec&)> spoil;
};

TEST(EcmpHashTest, EveryWrongParameterIsNamedWithItsFix) {
  const std::vector<HashField> twice = {HashField::kSip, HashField::kDip, HashField::kSip};
  const std::vector<Spoilt> cases{
      {HashKind::kCrc, "crc.width", [](HashSpec& s) { s.crc.width = 0; }},
      {HashKind::kCrc, "crc.width", [](HashSpec& s) { s.crc.width = 65; }},
      {HashKind::kCrc, "crc.polynomial", [](HashSpec& s) { s.crc.polynomial = 1ULL << 32; }},
      {HashKind::kCrc, "crc.init", [](HashSpec& s) { s.crc.init = 1ULL << 32; }},
      {HashKind::kCrc, "crc.xorOut", [](HashSpec& s) { s.crc.xor_out = 1ULL << 32; }},
      {HashKind::kCrc, "rotateRight", [](HashSpec& s) { s.rotate_right = 32; }},
      {HashKind::kRtag7, "rotateRight", [](HashSpec& s) { s.rotate_right = 16; }},
      {HashKind::kSai, "rotateRight", [](HashSpec& s) { s.rotate_right = -1; }},
      {HashKind::kXor16, "keepBits", [](HashSpec& s) { s.keep_bits = 0; }},
      {HashKind::kXor16, "keepBits", [](HashSpec& s) { s.keep_bits = 65; }},
      {HashKind::kXor16, "vlan", [](HashSpec& s) { s.vlan = 4096; }},
      {HashKind::kSai, "fields", [](HashSpec& s) { s.fields.clear(); }},
      {HashKind::kSai, "fields", [&](HashSpec& s) { s.fields = twice; }},
      {HashKind::kToeplitz, "toeplitz.key", [](HashSpec& s) { s.toeplitz_key.resize(6); }},
      {HashKind::kToeplitz, "toeplitz.key", [](HashSpec& s) { s.toeplitz_key.resize(1028); }},
      {HashKind::kRtag7, "rtag7.otherFields", [&](HashSpec& s) { s.rtag7.other_fields = twice; }},
      {HashKind::kRtag7, "rtag7.equalPortFields",
       [&](HashSpec& s) { s.rtag7.equal_port_fields = twice; }},
      {HashKind::kLinux, "seed", [](HashSpec& s) { s.seed = 0; }},
      {HashKind::kLinux, "fields", [](HashSpec& s) { s.fields.pop_back(); }},
      {HashKind::kLinux, "rotateRight", [](HashSpec& s) { s.rotate_right = 1; }},
      {HashKind::kLinux, "keepBits", [](HashSpec& s) { s.keep_bits = 16; }},
      {HashKind::kCrc, "ingressPorts", [](HashSpec& s) { s.ingress_ports = {Ports(1, 2)}; }},
      {HashKind::kRtag7, "ingressPorts",
       [](HashSpec& s) {
         for (int i = 0; i < 65; ++i) s.ingress_ports.push_back(Ports(i, i));
       }},
      {HashKind::kRtag7, "ingressPorts[0]", [](HashSpec& s) { s.ingress_ports = {Ports(3, 2)}; }},
      {HashKind::kRtag7, "ingressPorts[0]", [](HashSpec& s) { s.ingress_ports = {Ports(-1, 2)}; }},
      {HashKind::kRtag7, "ingressPorts[0]",
       [](HashSpec& s) { s.ingress_ports = {Ports(1, 65536)}; }},
      {HashKind::kRtag7, "ingressPorts[1]",
       [](HashSpec& s) {
         s.ingress_ports = {Ports(1, 5), Ports(5, 9)};
       }},
      {HashKind::kRtag7, "ingressPorts[0].rotateRight",
       [](HashSpec& s) {
         s.ingress_ports = {Ports(1, 2)};
         s.ingress_ports[0].rotate_right = 16;
       }},
      {HashKind::kRtag7, "ingressPorts[0].fields",
       [&](HashSpec& s) {
         s.ingress_ports = {Ports(1, 2)};
         s.ingress_ports[0].fields = twice;
       }},
      {HashKind::kCrc, "group.weights",
       [](HashSpec& s) {
         s.group.weights = {1, 0};
       }},
      {HashKind::kCrc, "group.weights",
       [](HashSpec& s) {
         s.group.weights = {65535, 2};
       }},
      {HashKind::kCrc, "group.resilientBuckets",
       [](HashSpec& s) { s.group.resilient_buckets = -1; }},
      {HashKind::kCrc, "group.resilientTable",
       [](HashSpec& s) {
         s.group.resilient_table = {0, 1};
       }},
      {HashKind::kCrc, "group.resilientTable",
       [](HashSpec& s) {
         s.group.resilient_buckets = 2;
         s.group.resilient_table = {0, -1};
       }},
      {HashKind::kCrc, "group",
       [](HashSpec& s) {
         s.group.resilient_buckets = 2;
         s.group.weights = {1, 1};
       }},
  };
  for (const Spoilt& c : cases) {
    HashSpec spec = Of(c.kind);
    c.spoil(spec);
    const std::vector<std::string> problems = Problems(spec, "hash");
    ASSERT_THAT(problems, ElementsAre(StartsWith(std::string("hash.") + c.field + ": ")));
    EXPECT_NE(problems[0].find("; "), std::string::npos) << "no fix in: " << problems[0];
  }
}

TEST(EcmpHashTest, TheLimitsThemselvesAreAllowed) {
  HashSpec crc = Of(HashKind::kCrc);
  crc.crc.width = 64;
  crc.crc.polynomial = crc.crc.init = crc.crc.xor_out = ~0ULL;
  crc.rotate_right = 63;
  crc.keep_bits = 64;
  crc.vlan = 4095;
  EXPECT_THAT(Problems(crc, "hash"), IsEmpty());
  crc.crc = {.width = 1, .polynomial = 1, .init = 1, .xor_out = 1};
  crc.rotate_right = 0;
  crc.group.weights = {65535, 1};
  EXPECT_THAT(Problems(crc, "hash"), IsEmpty());
  HashSpec rtag7 = Of(HashKind::kRtag7);
  rtag7.ingress_ports = {Ports(0, 0), Ports(1, 65535)};
  rtag7.group.resilient_buckets = 65536;
  EXPECT_THAT(Problems(rtag7, "hash"), IsEmpty());
}

TEST(EcmpHashTest, ALagIsCheckedAndHasNoLagInside) {
  HashSpec inner = Of(HashKind::kCrc);
  inner.crc.width = 65;
  HashSpec spec = Of(HashKind::kRtag7);
  spec.lag = std::make_shared<const HashSpec>(inner);
  EXPECT_THAT(Problems(spec, "hash"), ElementsAre(StartsWith("hash.lag.crc.width: ")));
  inner = Of(HashKind::kXor16);
  inner.lag = std::make_shared<const HashSpec>(Of(HashKind::kXor16));
  spec.lag = std::make_shared<const HashSpec>(inner);
  EXPECT_THAT(Problems(spec, "hash"), ElementsAre(StartsWith("hash.lag.lag: ")));
  spec.lag = std::make_shared<const HashSpec>(Of(HashKind::kLinux));
  EXPECT_THAT(Problems(spec, "hash"), ElementsAre(StartsWith("hash.lag.model: ")));
}

TEST(EcmpHashTest, ARotationIsWithinTheValueOfTheFunction) {
  std::vector<HashSpec> specs;
  for (const HashKind kind : kAllKinds) {
    if (kind != HashKind::kLinux && kind != HashKind::kUnpredictable) specs.push_back(Of(kind));
  }
  for (const Bmv2Calculation calculation :
       {Bmv2Calculation::kCrc16, Bmv2Calculation::kXor32, Bmv2Calculation::kXxh64}) {
    specs.push_back(Of(HashKind::kBmv2));
    specs.back().bmv2 = calculation;
  }
  for (HashSpec& spec : specs) {
    spec.rotate_right = ValueWidth(spec) - 1;
    EXPECT_THAT(Problems(spec, "hash"), IsEmpty());
    ++spec.rotate_right;
    EXPECT_THAT(Problems(spec, "hash"), ElementsAre(StartsWith("hash.rotateRight: ")));
  }
}

}  // namespace
}  // namespace yardmaster::fabric
