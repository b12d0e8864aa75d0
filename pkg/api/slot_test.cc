#include "pkg/api/slot.h"

#include "gtest/gtest.h"

#include "pkg/base/status.h"

namespace yardmaster::api {
namespace {

TEST(SlotTest, ReadsBackAsItWasWritten) {
  const Slot slot{"trainingjob-a", 17, "p0", "p0s3", {0, 1}};
  const std::string text = EncodeSlot(slot);
  EXPECT_EQ(text,
            R"({"version":1,"gang":"trainingjob-a","rank":17,"fabricPod":"p0","segment":"p0s3",)"
            R"("stages":[0,1]})");
  auto again = DecodeSlot(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, slot);
}

TEST(SlotTest, AnotherVersionAndGarbageAreRefused) {
  EXPECT_EQ(MessageOf(DecodeSlot(R"({"version":2,"gang":"g"})").status()),
            "version: is 2, this program reads 1; run equal versions of all parts");
  for (const char* text :
       {"", "{", "[]", "1", R"({"version":1})", R"({"version":1,"gang":"g","rank":-1})",
        R"({"version":"1","gang":"g"})"}) {
    EXPECT_FALSE(DecodeSlot(text).ok()) << text;
  }
}

}  // namespace
}  // namespace yardmaster::api
