// The main of a fuzz target where libFuzzer is not at hand:
//   TARGET [-runs=N] [-max_total_time=SECONDS] [-seed=N] FILE_OR_FOLDER...
// runs every file, then N mutations of them, for at most so many seconds (both flags as libFuzzer
// has them). It is not guided by coverage. It finds shallow faults and replays what libFuzzer found.
// The input that fails is written to ./fuzz-finding.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Of the sanitizers' runtime; null without one.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using yardmaster::Random;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What runs now, for the handlers that run when the process dies.
const std::string* current = nullptr;

void SaveFinding() {
  if (current == nullptr) return;
  const int file = open("fuzz-finding", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, current->data(), current->size());
  close(file);
}

void OnSignal(int signal_number) {
  SaveFinding();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void Run(const std::string& input) {
  current = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  current = nullptr;
}

void MutateOnce(std::string& input, const std::vector<std::string>& corpus, Random& random) {
  const std::size_t at = random.Below(input.size() + 1);
  switch (random.Below(6)) {
    case 0:
      input.insert(at, 1, static_cast<char>(random.Below(256)));
      break;
    case 1:
      input.erase(at, 1 + random.Below(8));
      break;
    case 2:
      if (at < input.size()) input[at] = static_cast<char>(random.Below(256));
      break;
    case 3:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.Below(8)));
      break;
    case 4: {  // repeat a piece
      const std::string piece = input.substr(at, 1 + random.Below(40));
      for (std::uint64_t i = 1 + random.Below(30); i > 0; --i) input.insert(at, piece);
      break;
    }
    default: {  // a piece of another input
      const std::string& other = corpus[random.Below(corpus.size())];
      input.insert(at, other.substr(random.Below(other.size() + 1), 1 + random.Below(60)));
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 10'000;
  std::uint64_t seed = 1;
  std::chrono::seconds limit{0};  // 0: none
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 6) == "-runs=") {
      runs = yardmaster::ParseNumber<std::uint64_t>(argument.substr(6)).value_or(runs);
    } else if (argument.substr(0, 16) == "-max_total_time=") {
      limit = std::chrono::seconds(
          yardmaster::ParseNumber<std::uint32_t>(argument.substr(16)).value_or(0));
      runs = UINT64_MAX;
    } else if (argument.substr(0, 6) == "-seed=") {
      seed = yardmaster::ParseNumber<std::uint64_t>(argument.substr(6)).value_or(seed);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        corpus.push_back(ReadFile(entry.path()));
      }
    } else {
      corpus.push_back(ReadFile(argument));
    }
  }
  if (corpus.empty()) corpus.emplace_back();
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(SaveFinding);
  for (const int signal_number : {SIGABRT, SIGFPE}) std::signal(signal_number, OnSignal);
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const std::string& input : corpus) Run(input);
  Random random(seed);
  std::uint64_t run = 0;
  for (; run < runs; ++run) {
    if (limit.count() > 0 && std::chrono::steady_clock::now() >= end) break;
    std::string input = corpus[random.Below(corpus.size())];
    for (std::uint64_t i = 1 + random.Below(5); i > 0; --i) MutateOnce(input, corpus, random);
    Run(input);
  }
  std::cout << corpus.size() << " inputs, " << run << " mutations, no finding\n";
  return 0;
}
