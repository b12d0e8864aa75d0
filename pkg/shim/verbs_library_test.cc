// How the shim is loaded: its symbols, the real library behind it, and what it needs itself.
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <unistd.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/shim/testing/verbs_fixture.h"

namespace yardmaster::shim {
namespace {

using VerbsLibraryTest = VerbsShimTest;

TEST_F(VerbsLibraryTest, SymbolsAreThereWhereTheRealLibraryHasThem) {
  EXPECT_TRUE(Run([] {
    const Verbs verbs = Open();
    using Register = ibv_mr* (*)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned);
    auto* reg = reinterpret_cast<Register>(dlvsym(verbs.handle, "ibv_reg_mr_iova2", "IBVERBS_1.8"));
    ASSERT_NE(reg, nullptr);
    EXPECT_EQ(reg(nullptr, reinterpret_cast<void*>(1000), 200, 30, 4),
              reinterpret_cast<ibv_mr*>(1234))
        << "arguments pass untouched";
    EXPECT_NE(dlvsym(verbs.handle, "ibv_query_ece", "IBVERBS_1.10"), nullptr);
    EXPECT_NE(dlvsym(verbs.handle, "ibv_set_ece", "IBVERBS_1.10"), nullptr);
    EXPECT_EQ(dlvsym(verbs.handle, "ibv_reg_dmabuf_mr", "IBVERBS_1.12"), nullptr);
    EXPECT_EQ(dlvsym(verbs.handle, "ibv_query_port_speed", "IBVERBS_1.16"), nullptr);
    for (const char* name :
         {"ibv_free_device_list", "ibv_get_device_name", "ibv_close_device", "ibv_get_async_event",
          "ibv_ack_async_event", "ibv_query_device", "ibv_query_port", "ibv_query_gid",
          "ibv_query_qp", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_dereg_mr", "ibv_create_cq",
          "ibv_destroy_cq", "ibv_fork_init", "ibv_event_type_str"}) {
      EXPECT_NE(dlvsym(verbs.handle, name, "IBVERBS_1.1"), nullptr) << name;
    }
  }));
}

TEST_F(VerbsLibraryTest, InLibibverbsOwnPlaceDriversFindTheRealOne) {
  const std::string place = folder_ + "/libibverbs.so.1";
  std::filesystem::create_symlink(VERBS_SHIM, place);
  environment_["STANDIN_DRIVER"] = STANDIN_DRIVER;
  EXPECT_TRUE(Run([&] {
    const Verbs verbs = Open(place.c_str());
    ASSERT_NE(verbs.pd[0], nullptr) << "the driver did not load";
    StandinQp* qp = MakeQp(verbs);
    EXPECT_EQ(Connect(verbs, qp, 9), 0);
    EXPECT_EQ(PortOf(qp), 50001);
  }));
}

TEST_F(VerbsLibraryTest, AProgramThatIsLinkedWithLibibverbsRunsOnIt) {
  std::filesystem::create_symlink(VERBS_SHIM, folder_ + "/libibverbs.so.1");
  environment_["LD_LIBRARY_PATH"] = folder_;
  environment_["STANDIN_DRIVER"] = STANDIN_DRIVER;  // finds the shim by the name libibverbs.so.1
  EXPECT_EQ(RunProgram(environment_, LINKED_PROGRAM), "4242\n");
  environment_.erase("STANDIN_DRIVER");
  environment_.erase("YARDMASTER_REAL_IBVERBS");  // the loader's cache names the machine's own
  EXPECT_EQ(RunProgram(environment_, LINKED_PROGRAM), "none\n");
  EXPECT_NE(Status().find(R"("why":"/)"), std::string::npos) << Status();
}

TEST_F(VerbsLibraryTest, WithoutARealLibraryThereAreNoDevicesAndNothingBreaks) {
  environment_["YARDMASTER_REAL_IBVERBS"] = VERBS_SHIM;  // itself: never that
  EXPECT_TRUE(Run([] {
    void* handle = dlopen(VERBS_SHIM, RTLD_NOW);
    ASSERT_NE(handle, nullptr);
    int (*fork_init)() = nullptr;
    Look(handle, "ibv_fork_init", &fork_init);
    fork_init();
  }));
}

TEST(VerbsShimFileTest, NeedsTheCLibraryAloneAndNoRecentOne) {
  for (const char* library : {VERBS_SHIM, SOCKET_SHIM}) {
    const std::string needed =
        RunProgram({}, std::string("readelf -d ") + library + " | grep NEEDED");
    if (kSanitized) GTEST_SKIP() << "built with a sanitizer";
    EXPECT_NE(needed.find("libc.so.6"), std::string::npos);
    EXPECT_EQ(needed.find("libstdc++"), std::string::npos) << needed;
    const std::string versions = RunProgram(
        {}, std::string("readelf -V ") + library + " | grep -o 'GLIBC_[0-9.]*' | sort -uV");
    // What distributions of 2018 have.
    for (int minor = 29; minor < 60; ++minor) {
      EXPECT_EQ(versions.find("GLIBC_2." + std::to_string(minor)), std::string::npos) << versions;
    }
  }
}

}  // namespace
}  // namespace yardmaster::shim
