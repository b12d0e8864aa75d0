// Damaged manifests through the whole of `plan --offline`: the inputs of the fuzz target's corpus,
// changed at random but the same way in every run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/random.h"
#include "pkg/cli/commands.h"

namespace yardmaster::cli {
namespace {

std::vector<std::string> Corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           YARDMASTER_SOURCE_DIR "/test/fuzz/corpus/plan_manifests")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Numbers and words do more harm than bytes: most inputs should still be read.
void Mutate(std::string& text, const std::vector<std::string>& corpus, Random& random) {
  static const char* const kPieces[] = {"0",     "-1",   "7",    "99999999999", "2147483648",
                                        "1e308", "null", "\"\"", "[]",          "{}",
                                        "true",  "Host", "NaN",  "3",           "Fabric"};
  const std::size_t at = random.Below(text.size() + 1);
  switch (random.Below(4)) {
    case 0: {  // another number
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) return;
      const std::size_t end = text.find_first_not_of("0123456789", digit);
      text.replace(digit, end - digit, kPieces[random.Below(std::size(kPieces))]);
      break;
    }
    case 1: {  // a line less
      const std::size_t line = text.find('\n', at);
      if (line == std::string::npos) return;
      text.erase(line, text.find('\n', line + 1) - line);
      break;
    }
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(random.Below(256));
      break;
    default: {  // a piece of another input
      const std::string& other = corpus[random.Below(corpus.size())];
      text.insert(at, other.substr(random.Below(other.size()), 1 + random.Below(60)));
      break;
    }
  }
}

TEST(PlanMutationsTest, DamagedManifestsAreAnsweredOrRefused) {
  const std::vector<std::string> corpus = Corpus();
  ASSERT_GE(corpus.size(), 3u);
  Random random(7);
  int answered = 0, refused = 0;
  for (int round = 0; round < 700; ++round) {
    std::string input = corpus[static_cast<std::size_t>(round) % corpus.size()];
    if (round >= static_cast<int>(corpus.size())) {
      for (std::uint64_t i = 1 + random.Below(2); i > 0; --i) Mutate(input, corpus, random);
    }
    std::istringstream in(input);
    std::ostringstream out, err;
    const int code = RunPlanCommand({"--offline", "-f", "-", "--paths", "--max-steps", "2000"},
                                    nullptr, in, out, err);
    ASSERT_TRUE(code == 0 || code == 1) << input;
    if (out.str().empty()) {
      ASSERT_FALSE(err.str().empty()) << input;
      ++refused;
    } else {
      ASSERT_TRUE(nlohmann::json::accept(out.str())) << input;
      ++answered;
    }
    if (round < static_cast<int>(corpus.size())) {
      EXPECT_EQ(code, 0) << err.str();
    }
  }
  EXPECT_GT(answered, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace yardmaster::cli
