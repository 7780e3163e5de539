// rigel-info: what the HSA runtime of this machine found.
//
//   rigel-info              the runtime and its agents: ISAs, caches, memory pools
//   rigel-info --summary    a line for each agent
//   rigel-info --json       the same for programs, in the form of docs/schemas/rigel-info.json
//   rigel-info --tools      the tools: what they intercept, and why one is not loaded (with --json: as JSON)
//   rigel-info --report     what discovery did and why (with --json: as JSON)
//
// Exit code: 0; 1 if the runtime does not start or a query fails; 2 for a wrong command line.
#include <hsa/hsa.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "inventory.hpp"
#include "print.hpp"

namespace {

namespace options = boost::program_options;

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
    std::fputs("rigel-info: this libhsa-runtime64 tells nothing of its tools\n", stderr);
    return 1;
  }
  const std::string report = rigel_info::discovery_report(json).value_or("");
  if (report_only && report.empty()) {
    std::fputs("rigel-info: this libhsa-runtime64 has no discovery report\n", stderr);
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
  options::options_description known("rigel-info: what the HSA runtime of this machine found");
  options::variables_map chosen;
  try {
    auto add = known.add_options();
    add("help,h", "show this");
    add("json,j", "write JSON");
    add("summary,s", "a line for each agent");
    add("version,V", "show the version");
    add("tools,t", "the tools: what they intercept, and why one is not loaded");
    add("report,r", "what discovery did and why, step by step");
    const auto parsed = options::command_line_parser(argc, argv).options(known).run();
    // Words that belong to no option would go unnoticed.
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0) throw options::too_many_positional_options_error();
    }
    options::store(parsed, chosen);
    options::notify(chosen);
    if (chosen.count("summary") + chosen.count("json") > 1) throw options::error("a summary is not JSON");
    if (chosen.count("summary") + chosen.count("report") + chosen.count("tools") > 1)
      throw options::error("only one of a summary, a report and the tools can be shown");
  } catch (const options::error& problem) {
    std::cerr << "rigel-info: " << problem.what() << '\n';
    return 2;
  }
  if (chosen.count("help") != 0) {
    std::cout << known;
    return 0;
  }
  if (chosen.count("version") != 0) {
    std::cout << "rigel-info " RIGEL_INFO_VERSION "\n";
    return 0;
  }
  try {
    return run(chosen.count("json") != 0, chosen.count("report") != 0, chosen.count("tools") != 0,
               chosen.count("summary") != 0);
  } catch (const std::exception& problem) {
    std::cerr << "rigel-info: " << problem.what() << '\n';
    return 1;
  }
}
