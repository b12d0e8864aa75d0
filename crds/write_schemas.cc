// Writes the schemas of the CRDs as the types of pkg/api describe them: what follows the line
// `schema:` of each file. Names, versions and columns before that line are written by hand.
//
//   ym_crd_schemas FOLDER            writes them
//   ym_crd_schemas FOLDER --check    changes nothing; exits 1 where a file differs
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace {

using namespace yardmaster;

constexpr std::string_view kSchemaLine = "    schema:\n";
constexpr std::string_view kHead =
    "      # Written by hack/crds from the types in pkg/api: edit those.\n";

struct Crd {
  const char* plural;
  nlohmann::json (*schema)();
};
constexpr Crd kCrds[] = {{"capacitypools", api::CapacityPoolSchema},
                         {"fabrics", api::FabricSchema},
                         {"gangs", api::GangSchema},
                         {"trainingjobs", api::TrainingJobSchema}};

std::string SchemaText(const Crd& crd) {
  std::string out(kHead);
  const std::string yaml = config::EmitYaml({{"openAPIV3Schema", crd.schema()}});
  for (const std::string& line : Split(yaml, '\n')) {
    if (!line.empty()) out += StrCat("      ", line, "\n");
  }
  return out;
}

bool Write(const Crd& crd, const std::string& folder, bool check) {
  const std::string path = StrCat(folder, "/", crd.plural, ".yardmaster.dev.yaml");
  std::ifstream in(path);
  const std::string before(std::istreambuf_iterator<char>(in), {});
  const std::size_t schema = before.find(kSchemaLine);
  if (schema == std::string::npos) {
    std::fprintf(stderr,
                 "%s: missing line \"schema:\"; restore the part above it from version control\n",
                 path.c_str());
    return false;
  }
  const std::string after = before.substr(0, schema + kSchemaLine.size()) + SchemaText(crd);
  if (after == before) return true;
  if (check) {
    std::fprintf(stderr, "%s is not what the types say; run hack/crds\n", path.c_str());
    return false;
  }
  std::ofstream out(path);
  out << after;
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[2]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: ym_crd_schemas FOLDER [--check]\n");
    return 2;
  }
  bool good = true;
  for (const Crd& crd : kCrds) good = Write(crd, argv[1], check) && good;
  return good ? 0 : 1;
}
