// The discovery report: one line for each file, module, driver, node, device and tool that hsa_init
// processed, with the outcome and the reason.
//
// The loader adds lines for files and modules, the core for nodes and devices. rigel-info prints the report.
// Each line is also logged when it is added, as `[backend|driver|tool] <subject>: <text>`. Failures and
// warnings have a level that is shown by default; the rest has the levels info and debug.
//
// *Threads:* any thread may add lines, which keep their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"

namespace rigel {

/// Steps of hsa_init, roughly in order.
enum class Stage : uint8_t {
  kConfig,      // the configuration file and the environment
  kSearched,    // a directory or list that was searched
  kFound,       // a manifest file
  kPermitted,   // permission to use a file: ownership, filters, architecture, ABI
  kParsed,      // parsing of a manifest
  kDriver,      // the driver: /dev/kfd or a transport
  kNode,        // a node of the topology
  kSelected,    // the backend of a node
  kOpened,      // the library of a backend
  kNegotiated,  // its table of functions
  kDevice,      // the device itself
  kTool,        // a plugin of the interception chain
};

enum class Outcome : uint8_t { kOk, kSkipped, kWarning, kFailed };

std::string_view name_of(Stage stage) noexcept;
std::string_view name_of(Outcome outcome) noexcept;

struct ReportLine {
  Stage stage;
  Outcome outcome;
  std::string subject;  // a file, a backend or a node
  std::string text;     // the problem and the remedy, or properties of the subject; may be empty
};

class DiscoveryReport {
 public:
  /// Adds a line and logs it at `level`. By default, a failure of the configuration, the driver or a tool is
  /// an error, because the user has named it. Other failures are warnings, because the runtime continues
  /// without the file or device.
  void add(Stage stage, Outcome outcome, std::string_view subject, std::string_view text = {},
           std::optional<LogLevel> level = {});

  std::vector<ReportLine> lines() const;

  /// For people: one line each, in columns.
  std::string to_text() const;

  /// Returns JSON: an array of objects with the members stage, outcome, subject and text.
  std::string to_json() const;

  void clear();

 private:
  mutable Mutex mutex_;
  std::vector<ReportLine> lines_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
