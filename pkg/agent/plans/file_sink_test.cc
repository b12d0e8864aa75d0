#include "pkg/agent/plans/file_sink.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int FilesIn(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

TEST(FileSink, WritesReplacesAndRemoves) {
  const TempFolder folder;
  FileSink sink(folder.path() + "/plans", "n1", FolderPerNode::kNo);
  ASSERT_TRUE(sink.Prepare().ok());
  const PlanFileId id{"n1", "u-1"};
  ASSERT_TRUE(sink.Write(id, "one").ok());
  ASSERT_TRUE(sink.Write(id, "two").ok());
  EXPECT_EQ(sink.PathOf(id), folder.path() + "/plans/u-1.json");
  EXPECT_EQ(ReadAll(sink.PathOf(id)), "two");
  EXPECT_EQ(FilesIn(folder.path() + "/plans"), 1);
  struct stat info {};
  ASSERT_EQ(::stat(sink.PathOf(id).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);

  ASSERT_TRUE(sink.Remove(id).ok());
  EXPECT_EQ(FilesIn(folder.path() + "/plans"), 0);
  EXPECT_TRUE(sink.Remove(id).ok());  // gone already
}

TEST(FileSink, AReaderThatHasTheOldFileOpenKeepsReadingTheOldText) {
  const TempFolder folder;
  FileSink sink(folder.path(), "n1", FolderPerNode::kNo);
  ASSERT_TRUE(sink.Write({"n1", "u"}, "old text").ok());
  std::ifstream reader(sink.PathOf({"n1", "u"}));
  ASSERT_TRUE(sink.Write({"n1", "u"}, "new").ok());
  std::string text;
  std::getline(reader, text);
  EXPECT_EQ(text, "old text");
}

TEST(FileSink, ListsPlanFilesOnlyAndClearsHalfWrittenOnes) {
  const TempFolder folder;
  folder.Put("u1.json", "{}");
  folder.Put(".u2.tmp", "{\"half");
  folder.Put("notes.txt", "mine");
  FileSink sink(folder.path(), "n1", FolderPerNode::kNo);
  const auto files = sink.List();
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(*files, ElementsAre(PlanFileId{"n1", "u1"}));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/.u2.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/notes.txt"));
}

TEST(FileSink, AFolderPerNodeKeepsNodesApart) {
  const TempFolder folder;
  FileSink sink(folder.path(), "", FolderPerNode::kYes);
  EXPECT_THAT(*sink.List(), IsEmpty());
  ASSERT_TRUE(sink.Write({"n2", "u"}, "b").ok());
  ASSERT_TRUE(sink.Write({"n1", "u"}, "a").ok());
  EXPECT_EQ(ReadAll(folder.path() + "/n1/u.json"), "a");
  EXPECT_THAT(*sink.List(), ElementsAre(PlanFileId{"n1", "u"}, PlanFileId{"n2", "u"}));
}

TEST(FileSink, NamesThatLeaveTheFolderAreRefused) {
  const TempFolder folder;
  FileSink sink(folder.path() + "/plans", "", FolderPerNode::kYes);
  for (const PlanFileId& id :
       {PlanFileId{"n1", "../u"}, PlanFileId{"..", "u"}, PlanFileId{"n1", ""},
        PlanFileId{"a/b", "u"}, PlanFileId{"n1", std::string("u\0x", 3)}, PlanFileId{"", "u"},
        PlanFileId{"n1", ".u"}}) {
    EXPECT_EQ(sink.Write(id, "x").code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sink.Remove(id).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(FilesIn(folder.path()), 0);
}

TEST(FileSink, LinksAreReplacedAndNotFollowed) {
  const TempFolder folder;
  folder.Put("theirs", "untouched");
  FileSink sink(folder.path() + "/plans", "", FolderPerNode::kYes);
  ASSERT_TRUE(sink.Write({"n1", "other"}, "x").ok());
  for (const char* name : {".u.tmp", "u.json"}) {
    std::filesystem::create_symlink(folder.path() + "/theirs", folder.path() + "/plans/n1/" + name);
  }
  ASSERT_TRUE(sink.Write({"n1", "u"}, "mine").ok());
  EXPECT_EQ(ReadAll(folder.path() + "/theirs"), "untouched");
  EXPECT_EQ(ReadAll(sink.PathOf({"n1", "u"})), "mine");

  std::filesystem::create_directory(folder.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(folder.path() + "/elsewhere",
                                            folder.path() + "/plans/n2");
  EXPECT_FALSE(sink.Write({"n2", "u"}, "mine").ok());
  EXPECT_EQ(FilesIn(folder.path() + "/elsewhere"), 0);

  folder.Put("elsewhere/.theirs.tmp", "untouched");
  folder.Put("elsewhere/theirs.json", "untouched");
  EXPECT_THAT(*sink.List(), ElementsAre(PlanFileId{"n1", "other"}, PlanFileId{"n1", "u"}));
  EXPECT_EQ(FilesIn(folder.path() + "/elsewhere"), 2);
}

TEST(FileSink, AFolderThatCannotBeIsAnErrorThatNamesIt) {
  const TempFolder folder;
  folder.Put("file", "");
  FileSink sink(folder.path() + "/file/plans", "n1", FolderPerNode::kNo);
  for (const absl::Status& status : {sink.Prepare(), sink.Write({"n1", "u"}, "x")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(MessageOf(status), ::testing::HasSubstr(folder.path()));
  }
}

}  // namespace
}  // namespace yardmaster::agent
