#include "pkg/cli/hash_command.h"

#include <cctype>
#include <istream>
#include <optional>
#include <ostream>

#include "CLI/CLI.hpp"
#include "pkg/api/ecmp_hash_json.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/config/yaml.h"
#include "pkg/repac/hash_model.h"
#include "pkg/repac/hash_threshold.h"

namespace yardmaster::cli {

namespace {

constexpr int kMaxMembers = 1 << 20;

struct HashFlags {
  std::string file;
  std::string output = "json";
  int members = 0;
};

void Declare(HashFlags& flags, CLI::App& app) {
  app.add_option("-f,--filename", flags.file, "the ecmpHash block, YAML or JSON")->required();
  app.add_option("--members", flags.members, "members of the ECMP group")
      ->required()
      ->check(CLI::Range(1, kMaxMembers));
  app.add_option("-o,--output", flags.output, "output format")->check(CLI::IsMember({"json"}));
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint8_t> ParseProtocol(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "udp") return std::uint8_t{17};
  if (lower == "tcp") return std::uint8_t{6};
  return ParseNumber<std::uint8_t>(text);
}

absl::Status WrongColumn(const char* column, std::string_view got, const char* want) {
  return absl::InvalidArgumentError(StrCat(column, " \"", got, "\" is not ", want));
}

absl::Status ParsePort(const char* column, std::string_view text, std::uint16_t& out) {
  const auto port = ParseNumber<std::uint16_t>(text);
  if (!port) return WrongColumn(column, text, "a number from 0 to 65535");
  out = *port;
  return absl::OkStatus();
}

absl::StatusOr<repac::HashModel> ReadModel(const std::string& file) {
  YM_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  YM_ASSIGN_OR_RETURN(const nlohmann::json block, config::ParseYaml(text, file));
  const absl::StatusOr<fabric::HashSpec> spec = api::DecodeHashSpec(block);
  if (!spec.ok()) return InFile(spec.status(), file);
  return repac::HashModel::Compile(*spec);
}

// From a value to a member of the group.
struct Members {
  std::size_t count = 1;
  repac::Thresholds thresholds;
};

Members MembersOf(const repac::HashModel& model, int count) {
  Members members{static_cast<std::size_t>(count), {}};
  if (!model.by_threshold()) return members;
  const std::vector<int>& weights = model.spec().group.weights;
  members.thresholds = weights.size() == members.count ? repac::ThresholdsOf(weights)
                                                       : repac::EqualThresholds(members.count);
  return members;
}

// Weights of another number of members do not count.
absl::Status CheckWeights(const repac::HashModel& model, const HashFlags& flags) {
  const auto members = static_cast<std::size_t>(flags.members);
  const bool counts = model.spec().group.weights.size() == members;
  if (!counts || !model.predictable() || model.by_threshold()) return absl::OkStatus();
  return InFile(FieldError("group.weights", "is evaluated for model linux only",
                           "remove it to see what the hash makes of the packets, or ask kubectl "
                           "yardmaster path, which counts weights of all models"),
                flags.file);
}

std::string Answer(const repac::HashModel& model, const repac::Packet& packet,
                   const Members& members) {
  if (!model.predictable()) {
    return StrCat("{\"unpredictable\": ", nlohmann::json(model.reason()).dump(), "}");
  }
  const std::uint64_t hash = model.Hash(packet);
  return StrCat("{\"hash\": ", hash,
                ", \"index\": ", repac::MemberOf(hash, members.count, members.thresholds), "}");
}

absl::Status AnswerAll(const repac::HashModel& model, const Members& members, std::istream& in,
                       std::ostream& out) {
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      text.remove_prefix(kByteOrderMark.size());
    }
    text = Trim(text);
    if (text.empty() || text[0] == '#') continue;
    const auto packet = ParsePacketLine(text);
    if (!packet.ok()) {
      return Annotate(packet.status(), StrCat("standard input, line ", number));
    }
    out << Answer(model, *packet, members) << '\n';
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<repac::Packet> ParsePacketLine(std::string_view line) {
  const std::vector<std::string> columns = Split(line, ',');
  if (columns.size() != 5 && columns.size() != 6) {
    return absl::InvalidArgumentError(
        StrCat("has ", Count(static_cast<std::int64_t>(columns.size()), "column"),
               "; write sip,dip,protocol,sport,dport or with ,ingressPort behind"));
  }
  const auto column = [&columns](std::size_t i) { return Trim(columns[i]); };
  repac::Packet packet;
  YM_ASSIGN_OR_RETURN(packet.sip, repac::IpAddress::Parse(column(0)));
  YM_ASSIGN_OR_RETURN(packet.dip, repac::IpAddress::Parse(column(1)));
  if (packet.sip.v6 != packet.dip.v6) {
    return absl::InvalidArgumentError("one address is IPv4 and the other IPv6; give two of a kind");
  }
  const auto protocol = ParseProtocol(column(2));
  if (!protocol) return WrongColumn("protocol", column(2), "a number from 0 to 255, udp or tcp");
  packet.protocol = *protocol;
  YM_RETURN_IF_ERROR(ParsePort("sport", column(3), packet.sport));
  YM_RETURN_IF_ERROR(ParsePort("dport", column(4), packet.dport));
  if (columns.size() == 6) {
    YM_RETURN_IF_ERROR(ParsePort("ingressPort", column(5), packet.ingress_port));
  }
  return packet;
}

int RunHashCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  HashFlags flags;
  CLI::App app("What the hash of a switch role makes of packets given as CSV on standard input",
               "kubectl yardmaster hash");
  Declare(flags, app);
  app.footer(
      "Example:\n"
      "  printf '10.0.0.1,10.0.0.2,udp,49152,4791\\n' | kubectl yardmaster hash -f model.yaml "
      "--members 60");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  if (flags.file == "-") {
    err << "kubectl yardmaster hash: -f: packets come on standard input; name a file\n"
           "Run with --help for usage.\n";
    return 2;
  }
  const absl::StatusOr<repac::HashModel> model = ReadModel(flags.file);
  absl::Status status = model.status();
  if (status.ok()) status = CheckWeights(*model, flags);
  if (status.ok()) status = AnswerAll(*model, MembersOf(*model, flags.members), in, out);
  out.flush();
  return status.ok() ? 0 : Fail(status, err);
}

}  // namespace yardmaster::cli
