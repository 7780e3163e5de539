#include "plugins/vgpu/check/sarif.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/log_file.hpp"
#include "plugins/vgpu/check/suppressions.hpp"

namespace rigel::vgpu::check {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kSourceRoot = "SRCROOT";  // the base of relative paths
constexpr int kIndent = 1;

Json message(std::string_view text) {
  return {{"text", text}};
}

// Returns a path as a URI reference (RFC 3986).
std::string uri_of(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("/-._~+").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location_of(const Place& place, const Frame& frame) {
  Json location;
  if (!frame.file.empty()) {
    Json artifact = {{"uri", uri_of(frame.file)}};
    if (!frame.file.starts_with('/')) artifact["uriBaseId"] = kSourceRoot;
    Json physical = {{"artifactLocation", std::move(artifact)}};
    if (frame.line > 0) physical["region"] = {{"startLine", frame.line}};
    if (frame.line > 0 && frame.column > 0) physical["region"]["startColumn"] = frame.column;
    location["physicalLocation"] = std::move(physical);
  } else if (place.address != 0) {
    location["physicalLocation"]["address"] = {
        {"absoluteAddress", place.address}, {"fullyQualifiedName", place.code}, {"kind", "instruction"}};
  }
  const std::string& function = frame.function.empty() ? place.code : frame.function;
  if (!function.empty())
    location["logicalLocations"] = Json::array({{{"fullyQualifiedName", function}, {"kind", "function"}}});
  if (!place.role.empty()) location["message"] = message(place.role);
  return location;
}

// The position of the innermost function.
Json location_of(const Place& place) {
  return location_of(place, place.frames.empty() ? Frame{} : place.frames.front());
}

// The functions that the code was inlined into.
Json stack_of(const Place& place) {
  Json frames = Json::array();
  for (const Frame& frame : place.frames) frames.push_back({{"location", location_of(place, frame)}});
  return {{"frames", std::move(frames)}};
}

// Two threads, each with one access. The earlier one comes first.
Json code_flow_of(const Finding& finding) {
  Json threads = Json::array();
  int64_t order = 0;
  for (const Place* const place : {&finding.others.front(), &finding.place}) {
    Json step = {{"location", location_of(*place)}, {"executionOrder", ++order}};
    if (place->frames.size() > 1) step["stack"] = stack_of(*place);
    threads.push_back({{"message", message(place->role)}, {"locations", Json::array({std::move(step)})}});
  }
  return {{"message", message(finding.summary)}, {"threadFlows", std::move(threads)}};
}

Json result_of(const Finding& finding) {
  Json result;
  result["ruleId"] = entry_of(finding.kind.problem).name;
  result["ruleIndex"] = static_cast<int>(finding.kind.problem);
  result["level"] = name(finding.severity);
  result["message"] = message(fmt::format("{} in kernel {}", finding.summary, finding.kernel));
  result["locations"] = Json::array({location_of(finding.place)});
  if (finding.place.frames.size() > 1) result["stacks"] = Json::array({stack_of(finding.place)});
  if (finding.kind.tool == Tool::kRaces && !finding.others.empty())
    result["codeFlows"] = Json::array({code_flow_of(finding)});
  Json related = Json::array();
  for (const std::vector<Place>* const places : {&finding.others, &finding.host}) {
    for (const Place& place : *places) {
      related.push_back(location_of(place));
      related.back()["id"] = related.size() - 1;
    }
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  std::string fingerprint = suppression_for(finding);
  for (const Place& other : finding.others) fingerprint += " and " + source_of(other);
  result["partialFingerprints"]["problemAndPlaces/v1"] = fingerprint;
  result["properties"] = {{"kernel", finding.kernel}, {"details", finding.details}};
  if (finding.launch != 0) result["properties"]["launch"] = finding.launch;
  return result;
}

Json driver() {
  Json rules = Json::array();
  for (const ProblemEntry& entry : problems()) {
    rules.push_back({{"id", entry.name},
                     {"shortDescription", message(entry.description)},
                     {"properties", {{"tags", Json::array({name(entry.tool)})}}}});
  }
  return {{"name", "vgpu-run --check"},
          {"organization", "Rigel"},
          {"version", VGPU_VERSION},
          {"semanticVersion", VGPU_VERSION},
          {"rules", std::move(rules)}};
}

Json log_without_runs() {
  return {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array()}};
}

std::string text_of(const Json& log) {
  return log.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

class SarifOutput final : public Output {
 public:
  explicit SarifOutput(std::string log_file) : log_file_(std::move(log_file)) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    run_["tool"]["driver"] = driver();
    run_["automationDetails"]["id"] = fmt::format("vgpu-run/{}-{}", ::getpid(), now.count());
    run_["columnKind"] = "unicodeCodePoints";
    run_["invocations"] = Json::array({{{"executionSuccessful", true}}});
    run_["results"] = Json::array();
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::current_path(error);
    if (!error) run_["originalUriBaseIds"][kSourceRoot]["uri"] = uri_of(folder.string() + "/");
  }

  void add(const Finding& finding, DeviceBus&, uint32_t) override {
    Json result = result_of(finding);
    const MutexLock lock(mutex_);
    run_["results"].push_back(std::move(result));
    kinds_.push_back(finding.kind);
    write();
  }

  void end(const Summary& summary) override {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const Kind& kind = kinds_[i];
      const auto count = std::find_if(summary.counts.begin(), summary.counts.end(),
                                      [&](const auto& each) { return each.first == kind; });
      if (count != summary.counts.end()) run_["results"][i]["occurrenceCount"] = count->second;
    }
    Json notes = Json::array();
    for (const std::string& note : summary.notes)
      notes.push_back({{"level", "note"}, {"message", message(note)}});
    if (!notes.empty()) run_["invocations"][0]["toolExecutionNotifications"] = std::move(notes);
    write();
    if (log_file_.empty()) append_to_log({}, text_of(log_with(log_without_runs())));
  }

 private:
  Json log_with(Json log) RIGEL_REQUIRES(mutex_) {
    Json& runs = log["runs"];
    const Json details = run_["automationDetails"];
    const auto own = std::find_if(runs.begin(), runs.end(), [&](const Json& run) {
      return run.is_object() && run.value("automationDetails", Json()) == details;
    });
    if (own == runs.end()) {
      runs.push_back(run_);
    } else {
      *own = run_;
    }
    return log;
  }

  void write() RIGEL_REQUIRES(mutex_) {
    if (log_file_.empty()) return;
    update_log(log_file_, [this](const std::string& text) RIGEL_REQUIRES(mutex_) {
      Json log = Json::parse(text, nullptr, false);
      const bool is_log = log.is_object() && log.value("runs", Json()).is_array();
      return text_of(log_with(is_log ? std::move(log) : log_without_runs()));
    });
  }

  const std::string log_file_;
  Mutex mutex_;
  Json run_ RIGEL_GUARDED_BY(mutex_);
  std::vector<Kind> kinds_ RIGEL_GUARDED_BY(mutex_);  // kinds of the results
};

}  // namespace

std::unique_ptr<Output> make_sarif_output(const Options& options) {
  return std::make_unique<SarifOutput>(options.log_file);
}

std::string empty_sarif_log() {
  return text_of(log_without_runs());
}

}  // namespace rigel::vgpu::check
