#include "loader/module/search.hpp"

#include <hsa_backend/hsa_backend.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "loader/module/elf_check.hpp"
#include "loader/module/files.hpp"
#include "loader/text/diagnostics.hpp"
#include "loader/text/words.hpp"

namespace rigel {
namespace {

constexpr std::string_view kSuffix = ".json";

// A pattern that excludes or includes backends, and its source.
struct Pattern {
  std::string text;
  std::string_view source;
  bool used = false;
};

bool matches_any(std::vector<Pattern>& patterns, std::string_view name, const Pattern** which) {
  bool found = false;
  for (auto& pattern : patterns) {
    if (!glob_matches(pattern.text, name)) continue;
    pattern.used = true;
    if (!found) *which = &pattern;
    found = true;
  }
  return found;
}

class Search {
 public:
  Search(const LoaderEnvironment& environment, const BackendsConfig& config, DiscoveryReport& report)
      : environment_(environment), report_(report) {
    add_patterns(select_, environment.trusted("HSA_BACKENDS_SELECT"), "HSA_BACKENDS_SELECT");
    add_patterns(disable_, environment.get("HSA_BACKENDS_DISABLE"), "HSA_BACKENDS_DISABLE");
    for (const auto& pattern : config.disable) disable_.push_back({pattern, "the configuration file"});
  }

  std::vector<FoundManifest> run() {
    if (const char* only = environment_.trusted("HSA_BACKEND_MANIFESTS")) {
      read_list(only, "HSA_BACKEND_MANIFESTS");
    } else {
      if (const char* more = environment_.trusted("HSA_ADD_BACKEND_MANIFESTS")) {
        read_list(more, "HSA_ADD_BACKEND_MANIFESTS");
      }
      if (const std::string user = environment_.user_folder(); !user.empty())
        read_default_folder(user + "/backends.d");
      if (!environment_.system_folder.empty())
        read_default_folder(environment_.system_folder + "/backends.d");
      if (!environment_.manifest_folder.empty()) read_default_folder(environment_.manifest_folder);
    }
    report_unused(select_, Outcome::kWarning);
    report_unused(disable_, Outcome::kSkipped);
    return std::move(found_);
  }

 private:
  static void add_patterns(std::vector<Pattern>& to, const char* list, const char* source) {
    if (list == nullptr) return;
    for (const auto piece : split(list, ',')) to.push_back({std::string(piece), source});
  }

  void read_list(std::string_view list, std::string_view variable) {
    left_ = kMaxManifests;
    bool more_files = true;
    for (const auto piece : split(list, ':')) {
      const std::string path(piece);
      if (is_folder(path)) {
        read_folder(path);
      } else if (exists(path)) {
        more_files = more_files && read_file(path);
      } else {
        report_.add(Stage::kSearched, Outcome::kFailed, path,
                    fmt::format("named by {}, but does not exist", variable));
      }
    }
  }

  void read_default_folder(const std::string& path) {
    if (const auto real = real_path(path); real) {
      read_folder(path);
    } else {
      report_.add(Stage::kSearched, Outcome::kSkipped, path, real.error());
    }
  }

  void read_folder(const std::string& path) {
    const auto names = list_folder(path, kSuffix);
    const auto real = real_path(path);
    if (!names || !real) {
      report_.add(Stage::kSearched, Outcome::kFailed, path, names ? real.error() : names.error());
      return;
    }
    report_.add(Stage::kSearched, Outcome::kOk, path, fmt::format("{} manifests", names->size()));
    const size_t left_elsewhere = std::exchange(left_, kMaxManifests);
    for (const auto& name : *names) {
      const std::string file = path + '/' + name;
      // Resolving a path queries the kernel for each directory; the real path of a plain file is known.
      const bool go_on = is_link(file) ? read_file(file) : read_real_file(file, *real + '/' + name);
      if (!go_on) break;
    }
    left_ = left_elsewhere;
  }

  // Returns false if the limit of files is reached.
  bool read_file(const std::string& file) {
    const auto real = real_path(file);
    if (real) return read_real_file(file, *real);
    report_.add(Stage::kFound, Outcome::kFailed, file, real.error());
    return true;
  }

  bool read_real_file(const std::string& file, const std::string& real) {
    if (!seen_.insert(real).second) {
      report_.add(Stage::kFound, Outcome::kSkipped, file, "already read");
      return true;
    }
    if (left_ == 0) {
      report_.add(
          Stage::kFound, Outcome::kFailed, file,
          fmt::format("more than {} manifests; this and the following ones are ignored", kMaxManifests));
      return false;
    }
    --left_;
    report_.add(Stage::kFound, Outcome::kOk, file, real == file ? "" : "is " + real);
    if (const auto permitted = environment_.check_permitted(real); !permitted) {
      report_.add(Stage::kPermitted, Outcome::kFailed, file, permitted.error());
      return true;
    }
    const auto text = read_small_file(real, kMaxJsonBytes);
    if (!text) {
      report_.add(Stage::kParsed, Outcome::kFailed, file, text.error());
      return true;
    }
    Diagnostics diagnostics;
    Manifest manifest = parse_manifest(*text, diagnostics);
    for (const auto& entry : diagnostics.entries()) {
      report_.add(Stage::kParsed, entry.is_error ? Outcome::kFailed : Outcome::kWarning, file, entry.text);
    }
    if (!diagnostics.has_errors()) judge({std::move(manifest), file, real});
    return true;
  }

  // Decides whether a readable manifest is used.
  void judge(FoundManifest found) {
    const Manifest& manifest = found.manifest;
    report_.add(Stage::kParsed, Outcome::kOk, found.file, "backend " + manifest.name);
    const auto leave_out = [&](Outcome outcome, const std::string& why) {
      report_.add(Stage::kPermitted, outcome, manifest.name, why);
    };

    const auto earlier = std::find_if(found_.begin(), found_.end(), [&](const FoundManifest& one) {
      return one.manifest.name == manifest.name;
    });
    if (earlier != found_.end()) {
      return leave_out(Outcome::kSkipped, fmt::format("{}: overridden by {}", found.file, earlier->file));
    }
    if (manifest.abi_major != HSABE_ABI_MAJOR || manifest.abi_min_minor > HSABE_ABI_MINOR) {
      return leave_out(Outcome::kFailed, fmt::format("{}: needs backend ABI {}.{}; this runtime has {}.{}",
                                                     found.file, manifest.abi_major, manifest.abi_min_minor,
                                                     HSABE_ABI_MAJOR, HSABE_ABI_MINOR));
    }
    if (!manifest.arch.empty() && manifest.arch != host_arch()) {
      return leave_out(Outcome::kSkipped, fmt::format("{}: for architecture {}, not for {}", found.file,
                                                      manifest.arch, host_arch()));
    }
    const Pattern* pattern = nullptr;
    if (matches_any(disable_, manifest.name, &pattern)) {
      return leave_out(Outcome::kSkipped,
                       fmt::format("disabled by '{}' in {}", pattern->text, pattern->source));
    }
    if (!select_.empty() && !matches_any(select_, manifest.name, &pattern)) {
      return leave_out(Outcome::kSkipped, "not selected by HSA_BACKENDS_SELECT");
    }
    if (const char* name = manifest.disable_environment.c_str(); *name != '\0') {
      const char* const value = environment_.get(name);
      if (value != nullptr && std::string_view(value) != "0") {
        return leave_out(Outcome::kSkipped, fmt::format("disabled by {}", name));
      }
    }
    report_.add(Stage::kPermitted, Outcome::kOk, manifest.name);
    found_.push_back(std::move(found));
  }

  void report_unused(const std::vector<Pattern>& patterns, Outcome outcome) {
    for (const auto& pattern : patterns) {
      if (pattern.used) continue;
      report_.add(Stage::kConfig, outcome, pattern.source,
                  in_quotes(pattern.text) + " matches none of the backends");
    }
  }

  const LoaderEnvironment& environment_;
  DiscoveryReport& report_;
  std::vector<Pattern> select_;
  std::vector<Pattern> disable_;
  std::set<std::string> seen_;  // real paths
  // Number of files that may still be read from the directory, or from a variable. Each has a separate limit,
  // so that a full directory does not hide installed manifests.
  size_t left_ = kMaxManifests;
  std::vector<FoundManifest> found_;
};

}  // namespace

std::vector<FoundManifest> find_manifests(const LoaderEnvironment& environment, const BackendsConfig& config,
                                          DiscoveryReport& report) {
  return Search(environment, config, report).run();
}

}  // namespace rigel
