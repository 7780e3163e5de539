// Prints docs/reference/api-status.md from the list of functions: those that are not supported.
#include <cstdio>
#include <string>
#include <vector>

namespace {

/// Functions of one group that return the same status for the same reason.
struct Unsupported {
  std::string header;
  std::string status;
  std::string reason;
  std::string functions;
};

std::string header_of(const std::string& group) {
  if (group == "core") return "hsa.h";
  if (group == "amd_ext") return "hsa_ext_amd.h";
  if (group == "finalizer_ext") return "hsa_ext_finalize.h";
  if (group == "image_ext") return "hsa_ext_image.h";
  return group == "pc_sampling_ext" ? "hsa_ven_amd_pc_sampling.h" : group;
}

struct Page {
  int working = 0;
  int unsupported_functions = 0;
  std::vector<const char*> table_only;
  std::vector<Unsupported> unsupported;
  int aliases = 0;

  void add_unsupported(const char* group, const char* name, const char* status, const char* reason) {
    const std::string header = header_of(group), function = std::string("`") + name + "`";
    ++unsupported_functions;
    for (Unsupported& row : unsupported) {
      if (row.header == header && row.status == status && row.reason == reason) {
        row.functions += ", " + function;
        return;
      }
    }
    unsupported.push_back({header, status, reason, function});
  }

  void print() const {
    std::printf(
        "# API status\n"
        "\n"
        "The functions of the HSA API and AMD's extensions that this version does not support.\n"
        "`api_status` generates this page from `api/entry/functions.inc`.\n"
        "\n"
        "- exported and working: %d\n"
        "- working, for tools only: %zu\n"
        "- aliases of exported functions: %d\n"
        "- not supported: %d\n",
        working, table_only.size(), aliases, unsupported_functions);
    std::puts(
        "\n"
        "## Functions that are not supported\n"
        "\n"
        "Each returns the status that its documentation gives for an agent or a system without the "
        "feature.\n");
    for (const Unsupported& row : unsupported) {
      std::printf("- `%s`: %s: `%s` (%s)\n", row.header.c_str(), row.functions.c_str(), row.status.c_str(),
                  row.reason.c_str());
    }
    std::puts(
        "\n"
        "## Functions for tools only\n"
        "\n"
        "These are not exported. Tools call them through the API table:\n");
    for (const char* name : table_only) std::printf("- `%s`\n", name);
    std::puts(
        "\n"
        "## Aliases\n"
        "\n"
        "Functions whose names end in `_acquire`, `_release` or `_acq_rel` are deprecated aliases of those "
        "in "
        "`_scacquire`,\n"
        "`_screlease` and `_scacq_screl`.");
  }
};

}  // namespace

int main() {
  Page page;
#define RIGEL_API(table, result, name, parameters, arguments) ++page.working;
#define RIGEL_API_TABLE_ONLY(table, result, name, parameters, arguments) page.table_only.push_back(#name);
#define RIGEL_API_EXPORT_ONLY RIGEL_API
#define RIGEL_API_UNAVAILABLE(table, result, name, parameters, arguments, status, reason) \
  page.add_unsupported(#table, #name, #status, reason);
#define RIGEL_API_TABLE_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#define RIGEL_API_EXPORT_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#define RIGEL_API_ALIAS(target, result, name, parameters, arguments) ++page.aliases;
#include "api/entry/functions.inc"
  page.print();
  return 0;
}
