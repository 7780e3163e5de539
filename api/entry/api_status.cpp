// Prints docs/api-status.md: what each function of the API does in this version, from the list of functions.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace {

const std::map<std::string, const char*> kTitles{
    {"core", "Core (`hsa.h`)"},
    {"amd_ext", "AMD extension (`hsa_ext_amd.h`)"},
    {"finalizer_ext", "Finalizer (`hsa_ext_finalize.h`)"},
    {"image_ext", "Images (`hsa_ext_image.h`)"},
    {"pc_sampling_ext", "PC sampling (`hsa_ven_amd_pc_sampling.h`)"},
};

struct Printer {
  std::string group;
  int available = 0;
  int unavailable = 0;

  void begin(const char* name_of_group) {
    if (group == name_of_group) return;
    group = name_of_group;
    const auto title = kTitles.find(group);
    std::printf("\n## %s\n\n| function | in this version |\n| --- | --- |\n",
                title == kTitles.end() ? "Second names" : title->second);
  }

  void row(const char* name_of_group, const char* name, const char* what) {
    begin(name_of_group);
    std::printf("| `%s` | %s |\n", name, what);
    ++available;
  }

  void unavailable_row(const char* name_of_group, const char* name, const char* status, const char* reason) {
    begin(name_of_group);
    std::printf("| `%s` | **not available**: %s; answers `%s` |\n", name, reason, status);
    ++unavailable;
  }
};

}  // namespace

int main() {
  Printer printer;
  std::puts("# Status of the API\n");
  std::puts(
      "Generated from `api/entry/functions.inc` by `api_status`; do not edit. A function that is not "
      "available");
  std::puts("answers the status that its documentation gives for an agent or a system without the feature.");
#define RIGEL_API(table, result, name, parameters, arguments) printer.row(#table, #name, "works");
#define RIGEL_API_TABLE_ONLY(table, result, name, parameters, arguments) \
  printer.row(#table, #name, "works (for tools, through the API table)");
#define RIGEL_API_EXPORT_ONLY RIGEL_API
#define RIGEL_API_UNAVAILABLE(table, result, name, parameters, arguments, status, reason) \
  printer.unavailable_row(#table, #name, #status, reason);
#define RIGEL_API_TABLE_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#define RIGEL_API_EXPORT_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#define RIGEL_API_ALIAS(target, result, name, parameters, arguments) \
  printer.row("alias", #name, "the same as `" #target "`");
#include "api/entry/functions.inc"
  std::printf("\n%d functions work, %d are not available.\n", printer.available, printer.unavailable);
  return 0;
}
