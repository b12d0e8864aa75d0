#include "pkg/api/ecmp_hash_json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using nlohmann::json;

// All in the order of their enumerations.
constexpr std::string_view kModels[] = {"crc",      "rtag7", "sai",   "xor16",
                                        "toeplitz", "bmv2",  "linux", "unpredictable"};
constexpr std::string_view kFields[] = {"sip",         "dip",  "protocol",     "sport", "dport",
                                        "ingressPort", "vlan", "sourceModule", "destQp"};
constexpr std::string_view kRtag7Functions[] = {
    "crc16-bisync", "crc16-ccitt",      "crc32c-lo",        "crc32c-hi", "crc32-lo",
    "crc32-hi",     "crc32-koopman-lo", "crc32-koopman-hi", "xor16",     "crc16-xor1",
    "crc16-xor2",   "crc16-xor4",       "crc16-xor8"};
constexpr std::string_view kFolds[] = {"xor", "lowWord"};
constexpr std::string_view kSaiAlgorithms[] = {"crc",         "xor",        "random",    "crc-32lo",
                                               "crc-32hi",    "crc-ccitt",  "crc-xor",   "none",
                                               "round-robin", "jenkins-lo", "jenkins-hi"};
constexpr std::string_view kBmv2Calculations[] = {"crc16",
                                                  "crcCCITT",
                                                  "crc32",
                                                  "xor16",
                                                  "xor32",
                                                  "toeplitz",
                                                  "identity",
                                                  "csum16",
                                                  "xxh64",
                                                  "round_robin",
                                                  "round_robin_consistent"};

template <typename E, std::size_t N>
std::string Name(const std::string_view (&names)[N], E value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

std::uint64_t LowBits(int width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max(width, 0)) - 1;
}

// A number from 0 to max, or a string of one in decimal or 0x form.
std::uint64_t ReadUnsigned(FieldReader& in, std::string_view key, std::uint64_t fallback,
                           std::uint64_t max) {
  const json value = in.Raw(key).ToJson();
  if (value.is_null()) return fallback;
  std::optional<std::uint64_t> number;
  if (value.is_number_unsigned()) number = value.get<std::uint64_t>();
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() >= 0) {
    number = static_cast<std::uint64_t>(value.get<std::int64_t>());
  }
  if (value.is_string()) {
    std::string_view text = value.get_ref<const std::string&>();
    const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hex) text.remove_prefix(2);
    std::uint64_t parsed = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, parsed, hex ? 16 : 10);
    if (!text.empty() && error == std::errc() && at == end) number = parsed;
  }
  if (number && *number <= max) return *number;
  in.errors().Add(in.PathOf(key),
                  StrCat("expected a number from 0 to ", max, ", got ", Shown(value)),
                  "write it in decimal or as 0x...");
  return fallback;
}

std::string Hex(std::uint64_t value) {
  char buffer[20];
  return "0x" + std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, 16).ptr);
}

// As a number where every JSON reader keeps it exact.
json Wide(std::uint64_t value) {
  if (value < std::uint64_t{1} << 53) return value;
  return Hex(value);
}

std::vector<HashField> ReadFields(FieldReader& in, std::string_view key,
                                  std::vector<HashField> fallback) {
  if (!in.has(key)) return fallback;
  std::vector<HashField> fields;
  for (const std::string& text : in.Strings(key)) {
    const auto* found = std::find(std::begin(kFields), std::end(kFields), text);
    if (found != std::end(kFields)) {
      fields.push_back(static_cast<HashField>(found - std::begin(kFields)));
      continue;
    }
    const std::string meant = Nearest(text, {std::begin(kFields), std::end(kFields)});
    in.errors().Add(in.PathOf(key), StrCat("\"", text, "\" is not a field"),
                    meant.empty() ? "use sip, dip, protocol, sport, dport, ingressPort, vlan, "
                                    "sourceModule or destQp"
                                  : StrCat("did you mean ", meant, "?"));
  }
  return fields;
}

// The block has no schema of its own (ecmp_hash_json.h), so its fields have no documentation here.
const About kHashField("");

void Fields(FieldVisitor& fields, const char* key, std::vector<HashField>& value) {
  fields.Custom(
      key, [] { return json(); }, kHashField,
      [&](FieldReader& in) { value = ReadFields(in, key, value); },
      [&] {
        json names;
        for (HashField field : value) names.push_back(Name(kFields, field));
        return names;
      });
}

template <typename Unsigned>
void WideInt(FieldVisitor& fields, const char* key, Unsigned& value, std::uint64_t max) {
  fields.Custom(
      key, [] { return json(); }, kHashField,
      [&](FieldReader& in) { value = static_cast<Unsigned>(ReadUnsigned(in, key, value, max)); },
      [&] { return Wide(value); });
}

template <typename Unsigned>
void ShortInt(FieldVisitor& fields, const char* key, Unsigned& value, int max) {
  int wide = value;
  fields.Int(key, wide, 0, max, kHashField.OmitAt(0));
  value = static_cast<Unsigned>(wide);
}

// What the width implies when only some of the parameters are given: CRC-32's for 32 bits, else
// those of a plain CRC from 0 to 0.
void Describe(FieldVisitor& fields, fabric::CrcParameters& crc) {
  fields.Int("width", crc.width, 1, 64, kHashField);
  fields.Check([&](FieldReader& in) {
    if (crc.width == 32) return;
    crc = {crc.width, 0, 0, false, false, 0};
    if (!in.has("polynomial")) {
      in.errors().Add(in.PathOf("polynomial"), "is missing", "give it a value");
    }
  });
  const std::uint64_t mask = LowBits(crc.width);
  WideInt(fields, "polynomial", crc.polynomial, mask);
  WideInt(fields, "init", crc.init, mask);
  fields.Bool("reflectIn", crc.reflect_in, kHashField);
  fields.Bool("reflectOut", crc.reflect_out, kHashField);
  WideInt(fields, "xorOut", crc.xor_out, mask);
}

void Describe(FieldVisitor& fields, fabric::Rtag7Parameters& rtag7) {
  fields.Enum("function", rtag7.function, kRtag7Functions,
              Required("", "name one, for example crc32c-lo"));
  fields.Bool("preMix", rtag7.pre_mix, kHashField);
  fields.Enum("ipv6Fold", rtag7.ipv6_fold, kFolds, kHashField.OmitAt(fabric::Ipv6Fold::kXor));
  Fields(fields, "otherFields", rtag7.other_fields);
  Fields(fields, "equalPortFields", rtag7.equal_port_fields);
  fields.Bool("flowSelect", rtag7.flow_select, kHashField.OmitAt(false));
}

void Describe(FieldVisitor& fields, fabric::IngressPortHash& hash) {
  fields.Int("first", hash.first, 0, 65535, kHashField);
  fields.Check([&](FieldReader&) { hash.last = hash.first; });
  fields.Int("last", hash.last, 0, 65535, kHashField);
  fields.Enum("function", hash.function, kRtag7Functions, kHashField);
  fields.Custom(
      "preMix", [] { return json(); }, kHashField,
      [&](FieldReader& in) {
        if (in.has("preMix")) hash.pre_mix = in.Bool("preMix", false);
      },
      [&] { return hash.pre_mix ? json(*hash.pre_mix) : json(); });
  fields.Custom(
      "seed", [] { return json(); }, kHashField,
      [&](FieldReader& in) {
        if (!in.has("seed")) return;
        hash.seed = static_cast<std::uint32_t>(ReadUnsigned(in, "seed", 0, 0xFFFFFFFF));
      },
      [&] { return hash.seed ? json(*hash.seed) : json(); });
  fields.Int("rotateRight", hash.rotate_right, 0, 15, kHashField);
  Fields(fields, "fields", hash.fields);
}

void Describe(FieldVisitor& fields, fabric::GroupRule& group) {
  fields.Bool("ordered", group.ordered, kHashField.OmitAt(true));
  fields.Bool("adaptiveRouting", group.adaptive_routing, kHashField.OmitAt(false));
  fields.Ints("weights", group.weights, 1, 65535, {}, kHashField);
  fields.Int("resilientBuckets", group.resilient_buckets, 0, 1 << 16, kHashField.OmitAt(0));
  fields.Ints("resilientTable", group.resilient_table, 0, 65535, {}, kHashField);
  fields.Bool("presetByIngressPort", group.preset_by_ingress_port, kHashField.OmitAt(false));
}

// SAI's name of an algorithm, in any of its spellings.
fabric::SaiAlgorithm ReadSaiAlgorithm(FieldReader& in) {
  std::string text = in.RequiredString("algorithm");
  for (char& c : text)
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kPrefix = "sai-hash-algorithm-";
  if (text.compare(0, kPrefix.size(), kPrefix) == 0) text.erase(0, kPrefix.size());
  const auto* found = std::find(std::begin(kSaiAlgorithms), std::end(kSaiAlgorithms), text);
  if (found != std::end(kSaiAlgorithms)) {
    return static_cast<fabric::SaiAlgorithm>(found - std::begin(kSaiAlgorithms));
  }
  if (!text.empty()) {
    in.errors().Add(in.PathOf("algorithm"), StrCat("there is no algorithm \"", text, "\""),
                    "use one of SAI's, for example crc-32lo");
  }
  return fabric::SaiAlgorithm::kCrc;
}

std::vector<std::uint8_t> ReadToeplitzKey(FieldReader& in) {
  const std::string text = in.String("key");
  std::vector<std::uint8_t> key;
  bool good = text.size() % 2 == 0;
  for (std::size_t i = 0; i + 1 < text.size() && good; i += 2) {
    std::uint8_t byte = 0;
    const char* end = text.data() + i + 2;
    const auto [at, error] = std::from_chars(text.data() + i, end, byte, 16);
    good = error == std::errc() && at == end;
    key.push_back(byte);
  }
  if (!good) {
    in.errors().Add(in.PathOf("key"), "is not a row of bytes",
                    "write two hexadecimal digits per byte");
    return {};
  }
  return key;
}

void Toeplitz(FieldVisitor& fields, std::vector<std::uint8_t>& key) {
  fields.Group("toeplitz", kHashField, [&](FieldVisitor& block) {
    block.Parsed(
        "key", {}, kHashField, [&](FieldReader& in) { key = ReadToeplitzKey(in); },
        [&] {
          return absl::BytesToHexString({reinterpret_cast<const char*>(key.data()), key.size()});
        });
  });
}

void DescribeModel(FieldVisitor& fields, HashSpec& spec) {
  switch (spec.kind) {
    case HashKind::kCrc:
      return fields.Group("crc", kHashField, [&](FieldVisitor& in) { Describe(in, spec.crc); });
    case HashKind::kRtag7:
      fields.Group("rtag7", kHashField, [&](FieldVisitor& in) { Describe(in, spec.rtag7); });
      return fields.Objects(
          "ingressPorts", spec.ingress_ports, {}, kHashField, "",
          [](FieldVisitor& in, fabric::IngressPortHash& hash) { Describe(in, hash); });
    case HashKind::kSai:
      return fields.Group("sai", kHashField, [&](FieldVisitor& block) {
        block.Parsed(
            "algorithm", {}, kHashField, [&](FieldReader& in) { spec.sai = ReadSaiAlgorithm(in); },
            [&] { return Name(kSaiAlgorithms, spec.sai); });
      });
    case HashKind::kToeplitz:
      return Toeplitz(fields, spec.toeplitz_key);
    case HashKind::kBmv2:
      fields.Group("bmv2", kHashField, [&](FieldVisitor& in) {
        in.Enum("calculation", spec.bmv2, kBmv2Calculations,
                Required("", "name one, for example crc16"));
      });
      if (spec.bmv2 == fabric::Bmv2Calculation::kToeplitz) Toeplitz(fields, spec.toeplitz_key);
      return;
    case HashKind::kXor16:
    case HashKind::kLinux:
      return;
    case HashKind::kUnpredictable:
      fields.Parsed(
          "reason", {}, kHashField.Always(),
          [&](FieldReader& in) {
            FieldReader block = in.Object("unpredictable");
            spec.reason = in.String("reason", block.String("reason", "declared unpredictable"));
            block.Close();
          },
          [&] { return spec.reason; });
  }
}

HashSpec ReadBlock(FieldReader in, bool inside_lag);

std::shared_ptr<const HashSpec> ReadLag(FieldReader& in, bool inside_lag) {
  if (!in.has("lag")) return nullptr;
  if (inside_lag) {
    in.errors().Add(in.PathOf("lag"), "a LAG has no LAG inside it", "remove it");
    return nullptr;
  }
  return std::make_shared<const HashSpec>(ReadBlock(in.Object("lag"), true));
}

// The fields beside `model`.
void DescribeBlock(FieldVisitor& fields, HashSpec& spec, bool inside_lag) {
  DescribeModel(fields, spec);
  if (spec.kind == HashKind::kUnpredictable) return;
  Fields(fields, "fields", spec.fields);
  WideInt(fields, "seed", spec.seed, 0xFFFFFFFF);
  fields.Int("rotateRight", spec.rotate_right, 0, 63, kHashField);
  fields.Int("keepBits", spec.keep_bits, 1, 64, kHashField);
  ShortInt(fields, "vlan", spec.vlan, 4095);
  ShortInt(fields, "sourceModule", spec.source_module, 255);
  fields.Group("group", kHashField, [&](FieldVisitor& in) { Describe(in, spec.group); });
  fields.Custom(
      "lag", [] { return json(); }, kHashField,
      [&](FieldReader& in) { spec.lag = ReadLag(in, inside_lag); },
      [&] { return spec.lag == nullptr ? json() : EncodeHashSpec(*spec.lag); });
}

HashSpec ReadBlock(FieldReader in, bool inside_lag) {
  HashSpec spec;
  if (!in.has("model")) {
    in.errors().Add(in.PathOf("model"), "is missing",
                    "use crc, rtag7, sai, xor16, toeplitz, bmv2, linux or unpredictable");
    return spec;
  }
  const std::int64_t before = in.errors().added();
  spec.kind = in.Enum("model", kModels, spec.kind);
  if (in.errors().added() != before) return spec;
  DecodeFields(in, [&](FieldVisitor& fields) { DescribeBlock(fields, spec, inside_lag); });
  in.Close();
  if (in.errors().added() == before) {
    for (std::string& problem : fabric::Problems(spec, in.path())) {
      // A block on its own has no name before its fields.
      if (!problem.empty() && problem[0] == '.') problem.erase(0, 1);
      in.errors().AddLine(std::move(problem));
    }
  }
  return spec;
}

}  // namespace

HashSpec ReadHashSpec(FieldReader in) { return ReadBlock(std::move(in), false); }

absl::StatusOr<HashSpec> DecodeHashSpec(const json& block) {
  FieldErrors errors;
  HashSpec spec = ReadHashSpec(FieldReader(&block, "", UnknownFields::kReject, &errors));
  if (!errors.empty()) return errors.status();
  return spec;
}

json EncodeHashSpec(const HashSpec& spec) {
  HashSpec described = spec;
  json out = EncodeFields([&](FieldVisitor& fields) { DescribeBlock(fields, described, false); });
  out["model"] = Name(kModels, spec.kind);
  return out;
}

json HashSchema() {
  return {{"type", "object"},
          {"description", "How switches choose among equal paths; the fields depend on the model."},
          {"x-kubernetes-preserve-unknown-fields", true},
          {"required", json::array({"model"})},
          {"properties",
           {{"model", {{"type", "string"}, {"enum", kModels}, {"description", "Which hash."}}}}}};
}

}  // namespace yardmaster::api
