#include "simulation/formats/simai_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {

namespace {

constexpr int kMaxNodes = 4'000'000;
constexpr int kMaxLinks = 40'000'000;

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (char c : line) {
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// "200Gbps" in Gb/s.
std::optional<double> Gbps(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"Gbps", 1}, {"Mbps", 1e-3}, {"Tbps", 1e3}}};
  for (const auto& [unit, factor] : kUnits) {
    if (text.size() <= unit.size() || text.substr(text.size() - unit.size()) != unit) continue;
    const auto number = ParseNumber<double>(text.substr(0, text.size() - unit.size()));
    if (!number || !(*number > 0) || *number > 1e9) return std::nullopt;
    return *number * factor;
  }
  return std::nullopt;
}

class SimaiReader {
 public:
  SimaiReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  absl::StatusOr<SimAiTopology> Read() {
    YM_RETURN_IF_ERROR(ReadHead());
    YM_RETURN_IF_ERROR(ReadSwitches());
    YM_RETURN_IF_ERROR(ReadLinks());
    return std::move(out_);
  }

 private:
  // The next line that is not blank; false at the end.
  bool Next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      words_ = Words(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++line_;
      if (!words_.empty()) return true;
    }
    words_.clear();
    ++line_;
    return false;
  }

  absl::Status Wrong(const std::string& problem, const std::string& fix) const {
    return FieldError(StrCat(name_, ":", line_), problem, fix);
  }

  absl::Status ReadHead() {
    constexpr char kForm[] =
        "the first line is: nodes gpusPerServer nvSwitches otherSwitches links gpuType";
    if (!Next() || words_.size() < 5 || words_.size() > 6) {
      return Wrong(StrCat(words_.size(), " words where 6 are expected"), kForm);
    }
    std::array<int, 5> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto number = ParseNumber<int>(words_[i]);
      if (!number || *number < 0) return Wrong(StrCat("\"", words_[i], "\" is not a count"), kForm);
      numbers[i] = *number;
    }
    const auto [nodes, per_server, nv_switches, switches, links] = numbers;
    if (nodes > kMaxNodes || links > kMaxLinks) {
      return Wrong(StrCat(nodes, " nodes and ", links, " links"),
                   StrCat("at most ", kMaxNodes, " and ", kMaxLinks, " are read"));
    }
    if (std::int64_t{nv_switches} + switches >= nodes || per_server < 1) {
      return Wrong(StrCat(nv_switches, " + ", switches, " switches of ", nodes, " nodes with ",
                          per_server, " GPUs a server leave no server"),
                   kForm);
    }
    out_.gpus = nodes - nv_switches - switches;
    out_.gpus_per_server = per_server;
    out_.nv_switches = nv_switches;
    out_.switches = switches;
    num_links_ = links;
    if (out_.gpus % per_server != 0) {
      return Wrong(StrCat(out_.gpus, " GPUs are not a whole number of servers of ", per_server),
                   "correct nodes or gpusPerServer");
    }
    return absl::OkStatus();
  }

  // They may stand on several lines.
  absl::Status ReadSwitches() {
    const int wanted = out_.nv_switches + out_.switches;
    for (int seen = 0; seen < wanted;) {
      if (!Next()) {
        return Wrong(StrCat("the list of switches ends after ", seen, " of ", wanted),
                     "list all of them after the first line");
      }
      for (const std::string& word : words_) {
        const auto id = ParseNumber<int>(word);
        if (seen == wanted || !id || *id != out_.gpus + seen) {
          return Wrong(StrCat("\"", word, "\" is not the next switch"),
                       StrCat("switches are ", out_.gpus, " to ", out_.nodes() - 1, ", in order"));
        }
        ++seen;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadLinks() {
    while (Next()) {
      if (words_.size() != 5) {
        return Wrong(StrCat(words_.size(), " words where 5 are expected"),
                     "a link is: source target bandwidth latency errorRate");
      }
      SimAiLink link;
      link.line = line_;
      for (int end = 0; end < 2; ++end) {
        const std::string& word = words_[static_cast<std::size_t>(end)];
        const auto id = ParseNumber<int>(word);
        if (!id || *id < 0 || *id >= out_.nodes()) {
          return Wrong(StrCat("there is no node ", word),
                       StrCat("nodes are 0 to ", out_.nodes() - 1));
        }
        (end == 0 ? link.source : link.target) = *id;
      }
      if (link.source == link.target) {
        return Wrong(StrCat("node ", link.source, " is linked to itself"), "name two nodes");
      }
      const auto gbps = Gbps(words_[2]);
      if (!gbps) {
        return Wrong(StrCat("\"", words_[2], "\" is not a bandwidth"), "write it like 400Gbps");
      }
      link.gbps = *gbps;
      if (static_cast<int>(out_.links.size()) == num_links_) {
        return Wrong(StrCat("more than the ", num_links_, " links of the first line"),
                     "correct the count or the links");
      }
      out_.links.push_back(link);
    }
    if (static_cast<int>(out_.links.size()) != num_links_) {
      return Wrong(StrCat(out_.links.size(), " links, and the first line says ", num_links_),
                   "correct the count or the links");
    }
    return absl::OkStatus();
  }

  std::string_view rest_;
  const std::string& name_;
  int line_ = 0;
  std::vector<std::string> words_;
  int num_links_ = 0;
  SimAiTopology out_;
};

}  // namespace

absl::StatusOr<SimAiTopology> ReadSimAiTopology(std::string_view text, const std::string& name) {
  return SimaiReader(text, name).Read();
}

}  // namespace yardmaster::sim
