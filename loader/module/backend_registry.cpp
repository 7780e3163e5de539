#include "loader/module/backend_registry.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "loader/module/files.hpp"
#include "loader/module/search.hpp"
#include "loader/text/words.hpp"

namespace rigel {
namespace {

std::string describe(const Backend& backend) {
  return fmt::format("{} (priority {}, {})", backend.manifest.name, backend.manifest.priority,
                     file_name_of(backend.file));
}

std::vector<std::string_view> names_of(const std::vector<const Backend*>& backends) {
  std::vector<std::string_view> names;
  for (const auto* backend : backends) names.push_back(backend->manifest.name);
  return names;
}

// Reports options that are not in the manifest's list, because a backend ignores unknown options silently.
void warn_about_options(const Manifest& manifest, const ModuleOptions& given, const std::string& file,
                        DiscoveryReport& report) {
  Diagnostics diagnostics;
  given.warn_about_keys_beyond(manifest.config, "/backends/" + manifest.name, diagnostics);
  for (const auto& entry : diagnostics.entries())
    report.add(Stage::kConfig, Outcome::kWarning, file, entry.text);
}

}  // namespace

struct BackendRegistry::Entry {
  enum State : uint8_t { kUntried, kOpen, kFailed };

  Backend backend;
  State state = kUntried;
  bool wanted = false;  // whether a device was offered to it
  bool in_use = false;  // whether it has opened a device
  const LoadedBackend* loaded = nullptr;
};

BackendRegistry::BackendRegistry() = default;
BackendRegistry::~BackendRegistry() = default;

void BackendRegistry::discover(const LoaderEnvironment& environment, const RuntimeConfig& config,
                               DiscoveryReport& report) {
  environment_ = environment;
  required_ = config.backends.required;
  for (auto& found : find_manifests(environment, config.backends, report)) {
    const ModuleOptions given = config.backends.options_of(found.manifest.name);
    warn_about_options(found.manifest, given, config.path, report);
    auto entry = std::make_unique<Entry>();
    entry->backend.options = found.manifest.config.overlaid_by(given);
    entry->backend.manifest = std::move(found.manifest);
    entry->backend.file = std::move(found.file);
    entry->backend.real_file = std::move(found.real_file);
    entries_.push_back(std::move(entry));
  }

  const auto all = backends();
  const auto names = names_of(all);
  for (const auto& options : config.backends.options) {
    if (std::find(names.begin(), names.end(), options.name) != names.end()) continue;
    report.add(Stage::kConfig, Outcome::kWarning, config.path,
               fmt::format("/backends/{}: unknown backend{}", options.name, suggestion(options.name, names)));
  }
}

std::vector<const Backend*> BackendRegistry::backends() const {
  std::vector<const Backend*> all;
  for (const auto& entry : entries_) all.push_back(&entry->backend);
  return all;
}

namespace {

void sort_by_rank(std::vector<const Backend*>& backends) {
  std::stable_sort(backends.begin(), backends.end(), [](const Backend* a, const Backend* b) {
    if (a->manifest.priority != b->manifest.priority) return a->manifest.priority > b->manifest.priority;
    return file_name_of(a->file) < file_name_of(b->file);
  });
}

}  // namespace

std::vector<const Backend*> BackendRegistry::candidates(const hsabe_node_t& node, std::string_view subject,
                                                        DiscoveryReport& report) {
  const GfxVersion version{node.gfx_major, node.gfx_minor, node.gfx_stepping};
  std::vector<const Backend*> out;
  for (const auto& entry : entries_) {
    if (!entry->backend.manifest.claims_node(node.bus, version)) continue;
    entry->wanted = true;
    out.push_back(&entry->backend);
  }
  sort_by_rank(out);

  const std::string what = node.bus == HSABE_BUS_KFD ? fmt::format("gfx version {}", to_string(version))
                                                     : fmt::format("bus {}", bus_name(node.bus));
  if (out.empty()) {
    report.add(Stage::kSelected, Outcome::kSkipped, subject, fmt::format("no backend supports {}", what));
    return out;
  }
  std::string text = fmt::format("{}: {}", what, describe(*out.front()));
  for (size_t i = 1; i < out.size(); ++i) text += (i == 1 ? "; also claimed by " : ", ") + describe(*out[i]);
  report.add(Stage::kSelected, Outcome::kOk, subject, text);
  return out;
}

std::vector<const Backend*> BackendRegistry::enumerators() {
  std::vector<const Backend*> out;
  for (const auto& entry : entries_) {
    if (!entry->backend.manifest.claims_bus(HSABE_BUS_OWN)) continue;
    entry->wanted = true;
    out.push_back(&entry->backend);
  }
  sort_by_rank(out);
  return out;
}

BackendRegistry::Entry* BackendRegistry::entry_of(const Backend& backend) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return &entry->backend == &backend; });
  return found == entries_.end() ? nullptr : found->get();
}

Result<const LoadedBackend*> BackendRegistry::open(const Backend& backend, DiscoveryReport& report) {
  Entry* const entry = entry_of(backend);
  if (entry == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "backend: not in this registry");
  if (entry->state == Entry::kOpen) return entry->loaded;
  if (entry->state == Entry::kFailed) return error(HSA_STATUS_ERROR);

  const Manifest& manifest = backend.manifest;
  entry->state = Entry::kFailed;
  entry->wanted = true;
  const auto refuse = [&](Stage stage, const std::string& why) {
    report.add(stage, Outcome::kFailed, manifest.name, why);
    return error(HSA_STATUS_ERROR);
  };

  const auto path = environment_.find_library(manifest.library, folder_of(backend.real_file),
                                              {environment_.backend_folder});
  if (!path) return refuse(Stage::kOpened, path.error());
  const auto loaded = load_backend(*path);
  if (!loaded && !loaded.error().was_opened) return refuse(Stage::kOpened, loaded.error().text);
  report.add(Stage::kOpened, Outcome::kOk, manifest.name, *path);
  if (!loaded) return refuse(Stage::kNegotiated, loaded.error().text);

  const LoadedBackend& table = **loaded;
  if (table.abi_minor < manifest.abi_min_minor) {
    return refuse(Stage::kNegotiated,
                  fmt::format("backend ABI {}.{} of the module is older than {}.{} in the manifest",
                              HSABE_ABI_MAJOR, table.abi_minor, manifest.abi_major, manifest.abi_min_minor));
  }
  if (manifest.claims_bus(HSABE_BUS_OWN) && table.device.enumerate == nullptr) {
    return refuse(Stage::kNegotiated,
                  "claims the bus 'own', but the device group has no function 'enumerate'");
  }
  if (table.name != manifest.name) {
    report.add(Stage::kNegotiated, Outcome::kWarning, manifest.name,
               fmt::format("the module has the name {}", in_quotes(table.name)));
  }
  if (!manifest.build_id.empty() && !table.build_id.empty() && table.build_id != manifest.build_id) {
    report.add(Stage::kNegotiated, Outcome::kWarning, manifest.name,
               fmt::format("the manifest has build ID {}, the module {}", in_quotes(manifest.build_id),
                           in_quotes(table.build_id)));
  }
  report.add(Stage::kNegotiated, Outcome::kOk, manifest.name,
             fmt::format("version {}, backend ABI {}.{}", in_quotes(table.version), HSABE_ABI_MAJOR,
                         table.abi_minor));
  entry->state = Entry::kOpen;
  entry->loaded = &table;
  return &table;
}

void BackendRegistry::note_device(const Backend& backend) {
  if (Entry* const entry = entry_of(backend)) entry->in_use = true;
}

Status BackendRegistry::conclude(DiscoveryReport& report) const {
  for (const auto& entry : entries_) {
    if (entry->wanted) continue;
    report.add(Stage::kSelected, Outcome::kSkipped, entry->backend.manifest.name,
               "no device on this system needs it");
  }
  Status status = HSA_STATUS_SUCCESS;
  for (const auto& name : required_) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const auto& entry) { return entry->backend.manifest.name == name; });
    if (found != entries_.end() && (*found)->in_use) continue;
    const auto names = names_of(backends());
    report.add(Stage::kConfig, Outcome::kFailed, name,
               found == entries_.end() ? "required, but not found" + suggestion(name, names)
                                       : std::string("required, but opened no device"));
    status = HSA_STATUS_ERROR;
  }
  return status;
}

}  // namespace rigel
