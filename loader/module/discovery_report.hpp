// The discovery report: one line for each file, module, driver, node, device and tool that hsa_init met, with the outcome
// and the reason.
//
// The loader adds lines for files and modules, the core for nodes and devices. rigel-info prints the report. Each line is
// also logged when it is added, as `[backend|driver|tool] <subject>: <text>`: failures and warnings at a level that is shown by default, the
// rest at info and debug.
//
// Threads: any thread adds at any time; lines keep the order of arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/log.hpp"

namespace rigel {

/// The steps of coming up, roughly in the order in which they are taken.
enum class Stage : uint8_t {
  kConfig,      // the configuration file and the environment
  kSearched,    // a folder or list that was looked through
  kFound,       // a manifest file
  kPermitted,   // may it be used: ownership, filters, architecture, ABI
  kParsed,      // is it a manifest
  kDriver,      // the way to the hardware: /dev/kfd or a transport
  kNode,        // a node of the topology
  kSelected,    // which backend serves a node
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
  std::string subject;  // a file, a backend, a node
  std::string text;     // the problem and the remedy, or properties of the subject; may be empty
};

class DiscoveryReport {
 public:
  /// Logs the line at `level`. By default a failure of the configuration, the driver or a tool is an error, since the
  /// user named it; other failures are warnings, since the runtime goes on without the file or device.
  void add(Stage stage, Outcome outcome, std::string_view subject, std::string_view text = {},
           std::optional<LogLevel> level = {});

  /// A copy of the lines so far.
  std::vector<ReportLine> lines() const;

  /// For people: one line each, in columns.
  std::string to_text() const;

  /// For programs: an array of objects with the members stage, outcome, subject and text.
  std::string to_json() const;

  void clear();

 private:
  mutable Mutex mutex_;
  std::vector<ReportLine> lines_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
