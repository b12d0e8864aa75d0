#include "pkg/api/ecmp_hash_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::api {
namespace {

using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using nlohmann::json;
using testing::HasSubstr;

HashSpec Read(const json& block) {
  auto spec = DecodeHashSpec(block);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.value_or(HashSpec());
}

std::string ErrorOf(const json& block) {
  auto spec = DecodeHashSpec(block);
  EXPECT_FALSE(spec.ok()) << block;
  return MessageOf(spec.status());
}

TEST(HashSpecJsonTest, ReadsTheTwoModelsOfTheContract) {
  const HashSpec crc = Read({{"model", "crc"},
                             {"fields", {"sip", "dip", "protocol", "sport", "dport"}},
                             {"crc",
                              {{"width", 16},
                               {"polynomial", 0x1021},
                               {"init", 0xFFFF},
                               {"reflectIn", true},
                               {"reflectOut", false},
                               {"xorOut", 1}}},
                             {"seed", 7},
                             {"rotateRight", 3},
                             {"keepBits", 12}});
  EXPECT_EQ(crc.kind, HashKind::kCrc);
  EXPECT_EQ(crc.crc, (fabric::CrcParameters{16, 0x1021, 0xFFFF, true, false, 1}));
  EXPECT_EQ(crc.seed, 7u);
  EXPECT_EQ(crc.rotate_right, 3);
  EXPECT_EQ(crc.keep_bits, 12);
  const HashSpec rtag7 = Read({{"model", "rtag7"},
                               {"fields", {"dport", "sip"}},
                               {"rtag7", {{"function", "crc32-koopman-hi"}, {"preMix", true}}},
                               {"seed", 0x12345678}});
  EXPECT_EQ(rtag7.rtag7.function, fabric::Rtag7Function::kCrc32KoopmanHi);
  EXPECT_TRUE(rtag7.rtag7.pre_mix);
  EXPECT_EQ(rtag7.fields, (std::vector<HashField>{HashField::kDport, HashField::kSip}));
  EXPECT_EQ(rtag7.seed, 0x12345678u);
}

TEST(HashSpecJsonTest, EveryModelReadsBackToTheSame) {
  const std::vector<json> blocks = {
      {{"model", "crc"}},
      {{"model", "crc"}, {"crc", {{"width", 64}, {"polynomial", "0x42F0E1EBA9EA3693"}}}},
      {{"model", "rtag7"},
       {"rtag7",
        {{"function", "xor16"},
         {"ipv6Fold", "lowWord"},
         {"otherFields", {"sip", "dip"}},
         {"flowSelect", true}}},
       {"vlan", 9},
       {"sourceModule", 3},
       {"ingressPorts",
        {{{"first", 1}, {"last", 8}, {"function", "crc32-hi"}, {"seed", 4}},
         {{"first", 9}, {"last", 9}, {"rotateRight", 2}, {"fields", {"sport"}}, {"preMix", true}}}},
       {"group", {{"ordered", false}, {"weights", {1, 2, 3}}}},
       {"lag", {{"model", "xor16"}}}},
      {{"model", "sai"}, {"sai", {{"algorithm", "crc-32lo"}}}, {"rotateRight", 10}},
      {{"model", "xor16"}, {"group", {{"resilientBuckets", 2}, {"resilientTable", {1, 0}}}}},
      {{"model", "toeplitz"}, {"toeplitz", {{"key", "6d5a56da"}}}},
      {{"model", "bmv2"}, {"bmv2", {{"calculation", "crcCCITT"}}}},
      {{"model", "xor16"}, {"group", {{"presetByIngressPort", true}, {"adaptiveRouting", true}}}},
      {{"model", "unpredictable"}, {"reason", "spraying"}}};
  for (const json& block : blocks) {
    const HashSpec spec = Read(block);
    const json text = EncodeHashSpec(spec);
    EXPECT_EQ(EncodeHashSpec(Read(text)), text) << block;
    for (const auto& [key, value] : block.items()) {
      if (key == "crc" || key == "rtag7") continue;
      EXPECT_EQ(text.at(key).empty(), value.empty()) << key;
    }
  }
}

TEST(HashSpecJsonTest, TheReasonOfAnUnpredictableModelStandsBesideItOrInItsBlock) {
  EXPECT_EQ(Read({{"model", "unpredictable"}, {"reason", "spraying"}}).reason, "spraying");
  EXPECT_EQ(Read({{"model", "unpredictable"}, {"unpredictable", {{"reason", "spraying"}}}}).reason,
            "spraying");
  EXPECT_EQ(Read({{"model", "unpredictable"}}).reason, "declared unpredictable");
}

TEST(HashSpecJsonTest, SaiNamesAreTakenInEverySpelling) {
  for (const char* name : {"crc-32lo", "CRC_32LO", "SAI_HASH_ALGORITHM_CRC_32LO"}) {
    EXPECT_EQ(Read({{"model", "sai"}, {"sai", {{"algorithm", name}}}}).sai,
              fabric::SaiAlgorithm::kCrc32Lo);
  }
}

TEST(HashSpecJsonTest, WrongFieldsAreNamedWithTheirPath) {
  EXPECT_THAT(ErrorOf(json::object()), HasSubstr("model: is missing"));
  EXPECT_THAT(ErrorOf({{"model", "crd"}}), HasSubstr("did you mean crc?"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"feilds", json::array()}}), HasSubstr("feilds"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"fields", json::array()}}),
              HasSubstr("fields: is empty"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"fields", {"sip", "spotr"}}}), HasSubstr("sport"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"fields", {"sip", "sip"}}}), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"crc", {{"width", 65}}}}), HasSubstr("crc.width"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"crc", {{"width", 8}}}}), HasSubstr("crc.polynomial"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"crc", {{"width", 8}, {"polynomial", 256}}}}),
              HasSubstr("crc.polynomial"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"seed", -1}}), HasSubstr("seed"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"seed", "0x1FFFFFFFF"}}), HasSubstr("seed"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"rotateRight", 32}}), HasSubstr("rotateRight"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"keepBits", 0}}), HasSubstr("keepBits"));
  EXPECT_THAT(ErrorOf({{"model", "rtag7"}}), HasSubstr("rtag7.function"));
  EXPECT_THAT(ErrorOf({{"model", "rtag7"}, {"rtag7", {{"function", "crc32c"}}}}),
              HasSubstr("crc32c-lo"));
  EXPECT_THAT(ErrorOf({{"model", "sai"}, {"sai", {{"algorithm", "md5"}}}}), HasSubstr("md5"));
  EXPECT_THAT(ErrorOf({{"model", "toeplitz"}, {"toeplitz", {{"key", "6d5"}}}}),
              HasSubstr("toeplitz.key"));
  EXPECT_THAT(ErrorOf({{"model", "toeplitz"}, {"toeplitz", {{"key", "6d5a"}}}}),
              HasSubstr("toeplitz.key"));
  EXPECT_THAT(ErrorOf({{"model", "crc"}, {"rtag7", {{"function", "xor16"}}}}), HasSubstr("rtag7"));
  EXPECT_THAT(ErrorOf({{"model", "xor16"}, {"group", {{"weights", {0}}}}}), HasSubstr("weights"));
  EXPECT_THAT(
      ErrorOf({{"model", "xor16"}, {"lag", {{"model", "xor16"}, {"lag", {{"model", "xor16"}}}}}}),
      HasSubstr("lag.lag"));
  EXPECT_THAT(ErrorOf(json::array()), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace yardmaster::api
