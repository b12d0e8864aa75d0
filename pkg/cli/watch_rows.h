// Implements `-w`: follows a cluster and prints the rows of tables that change, as kubectl does.
//
// Thread safety: that of the client.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/cli/output/overview.h"
#include "pkg/kube/client.h"

namespace yardmaster::cli {

// Prints the header and all rows first, and then each row that is new or has changed. A row is
// identified by its first two cells. Deleted rows are not printed. Columns keep their first widths.
class RowPrinter {
 public:
  void Print(const std::vector<Table>& tables, std::ostream& out);

 private:
  std::vector<std::vector<std::size_t>> widths_;  // by table and column
  std::vector<std::map<std::string, std::vector<std::string>>> rows_;
};

using TablesFunction = std::function<std::vector<Table>(const state::ClusterState&)>;

// Runs until SIGINT ends the process, or `stop`. Returns 1 if the cluster does not answer at first.
int WatchRows(kube::Client& client, const TablesFunction& tables, std::ostream& out,
              std::ostream& err, std::stop_token stop = {});

}  // namespace yardmaster::cli
