// rigel-info: prints the HSA runtime of this system and its agents.
//
//   - rigel-info: the runtime and its agents: ISAs, caches, memory pools
//   - rigel-info --summary: one line per agent
//   - rigel-info --json: JSON (docs/schemas/rigel-info.json)
//   - rigel-info --tools: the tools with intercepted functions, and why a tool is not loaded (or --json)
//   - rigel-info --report: the steps of discovery and their reasons (or --json)
//
// Exit status: 0; 1 if the runtime does not start or a query fails; 2 for an invalid command line.
#include <hsa/hsa.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "inventory.hpp"
#include "print.hpp"

namespace {

namespace options = boost::program_options;

constexpr const char* kUsage =
    "usage: rigel-info [options]\n"
    "Prints the HSA runtime of this system and its agents: ISAs, caches and memory pools.\n"
    "\n";
constexpr const char* kExamples =
    "\n"
    "Examples:\n"
    "  rigel-info --summary\n"
    "  rigel-info --json | jq '.agents[].name'\n";

struct Runtime {
  Runtime() {
    if (const hsa_status_t status = hsa_init(); status != HSA_STATUS_SUCCESS) {
      throw rigel_info::HsaError("hsa_init", status);
    }
  }
  ~Runtime() { hsa_shut_down(); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
};

int run(bool json, bool report_only, bool tools_only, bool summary) {
  const Runtime runtime;
  const auto tools = rigel_info::known_tools();
  if (tools_only && !tools) {
    std::fputs("rigel-info: error: --tools: this libhsa-runtime64 does not report its tools\n", stderr);
    return 1;
  }
  const std::string report = rigel_info::discovery_report(json).value_or("");
  if (report_only && report.empty()) {
    std::fputs("rigel-info: error: --report: this libhsa-runtime64 has no discovery report\n", stderr);
    return 1;
  }
  std::string text = report_only  ? report
                     : tools_only ? (json ? rigel_info::to_json(*tools) : rigel_info::to_text(*tools))
                     : summary    ? rigel_info::to_summary(rigel_info::take_inventory())
                     : json       ? rigel_info::to_json(rigel_info::take_inventory(), report, tools)
                                  : rigel_info::to_text(rigel_info::take_inventory());
  if (!text.empty() && text.back() != '\n') text += '\n';
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options::options_description description(110);
  options::variables_map values;
  try {
    auto add = description.add_options();
    add("summary,s", "print one line per agent");
    add("json,j", "print JSON instead of text (also with --tools and --report)");
    add("tools,t", "print the tools: intercepted functions, and why a tool is not loaded");
    add("report,r", "print the steps of discovery and their reasons");
    add("version,V", "print the version");
    add("help,h", "print this text");
    const auto parsed = options::command_line_parser(argc, argv).options(description).run();
    // Positional arguments would be ignored otherwise.
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0)
        throw options::error("unexpected argument '" + option.original_tokens.front() + "'");
    }
    options::store(parsed, values);
    options::notify(values);
    if (values.count("summary") + values.count("json") > 1)
      throw options::error("--summary and --json cannot be combined");
    if (values.count("summary") + values.count("report") + values.count("tools") > 1)
      throw options::error("--summary, --report and --tools cannot be combined");
  } catch (const options::error& problem) {
    std::cerr << "rigel-info: error: " << problem.what() << "; use rigel-info --help\n";
    return 2;
  }
  if (values.count("help") != 0) {
    std::cout << kUsage << description << kExamples;
    return 0;
  }
  if (values.count("version") != 0) {
    std::cout << "rigel-info " RIGEL_INFO_VERSION "\n";
    return 0;
  }
  try {
    return run(values.count("json") != 0, values.count("report") != 0, values.count("tools") != 0,
               values.count("summary") != 0);
  } catch (const std::exception& problem) {
    std::cerr << "rigel-info: error: " << problem.what() << '\n';
    return 1;
  }
}
