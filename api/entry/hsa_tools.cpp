#include "api/entry/hsa_tools.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "api/entry/interception.hpp"
#include "api/entry/tool_layout.hpp"
#include "api/support/environment.hpp"
#include "api/support/log.hpp"
#include "loader/module/dynamic_module.hpp"

namespace rigel::api {
namespace {

using OnLoad = bool (*)(HsaApiTable* table, uint64_t runtime_version, uint64_t failed_tool_count,
                        const char* const* failed_tool_names);
using Slot = void (*)();

constexpr size_t slots_of(size_t bytes) {
  return (bytes - sizeof(ApiTableVersion)) / sizeof(Slot);
}

template <class Table>
Slot* slots(Table& table) {
  return reinterpret_cast<Slot*>(reinterpret_cast<char*>(&table) + sizeof(ApiTableVersion));
}

// Copies the entries of `from` to `to`, which other threads may be calling through.
template <class Table>
void store_entries_of(Table& to, const Table& from) noexcept {
  Slot* const out = slots(to);
  const Slot* const in = slots(const_cast<Table&>(from));
  for (size_t i = 0; i < slots_of(sizeof to); ++i) store_slot(out[i], in[i]);
}

void store_entries(ApiTables& to, const ApiTables& from) noexcept {
  store_entries_of(to.core, from.core);
  store_entries_of(to.amd_ext, from.amd_ext);
  store_entries_of(to.finalizer_ext, from.finalizer_ext);
  store_entries_of(to.image_ext, from.image_ext);
  store_entries_of(to.tools, from.tools);
  store_entries_of(to.pc_sampling_ext, from.pc_sampling_ext);
}

// Two releases added entries in the middle of AmdExtTable. ROCm 5.0 to 5.4 have 48 entries. 5.5 added three
// of streaming performance monitors before the last. 5.6 added hsa_amd_memory_async_copy_on_engine and
// _copy_engine_status before the 17th, and later releases appended entries.
constexpr size_t kAmdSlots5 = 48;
constexpr size_t kAmdSlots55 = 51;
constexpr size_t amd_slots(TableLayout layout) {
  return layout == TableLayout::kRocm5 ? kAmdSlots5 : kAmdSlots55;
}
/// Returns today's index of the entry in ROCm 5's `slot`.
constexpr size_t amd_slot(TableLayout layout, size_t slot) {
  if (slot < 16) return slot;
  return slot + 2 + (layout == TableLayout::kRocm5 && slot == kAmdSlots5 - 1 ? 3 : 0);
}
static_assert(offsetof(AmdExtTable, hsa_amd_agent_memory_pool_get_info_fn) ==
              sizeof(ApiTableVersion) + amd_slot(TableLayout::kRocm5, 16) * sizeof(Slot));
static_assert(offsetof(AmdExtTable, hsa_amd_spm_acquire_fn) ==
              sizeof(ApiTableVersion) + amd_slot(TableLayout::kRocm55, 47) * sizeof(Slot));
static_assert(offsetof(AmdExtTable, hsa_amd_queue_cu_get_mask_fn) ==
              sizeof(ApiTableVersion) + amd_slot(TableLayout::kRocm5, 47) * sizeof(Slot));
static_assert(offsetof(AmdExtTable, hsa_amd_queue_cu_get_mask_fn) ==
              sizeof(ApiTableVersion) + amd_slot(TableLayout::kRocm55, 50) * sizeof(Slot));
constexpr size_t kImageSlots5 = 13;

}  // namespace

std::vector<std::string> split_tool_list(std::string_view list) {
  std::vector<std::string> out;
  std::string name;
  bool quoted = false;
  const auto end_name = [&] {
    if (!name.empty()) out.push_back(std::exchange(name, {}));
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '\\' && i + 1 < list.size()) {
      name += list[++i];
    } else if (c == '"') {
      if (std::exchange(quoted, !quoted)) end_name();
    } else if (c == ' ' && !quoted) {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return out;
}

// The tables in the layouts of ROCm 5.0 to 5.5.
struct HsaTools::Rocm5Tables {
  struct Root {
    ApiTableVersion version;
    CoreApiTable* core;
    void* amd_ext;
    FinalizerExtTable* finalizer_ext;
    void* image_ext;
  } root;
  CoreApiTable core;
  struct {
    ApiTableVersion version;
    Slot slots[kAmdSlots55];  // the layout's number of them is used
  } amd_ext;
  FinalizerExtTable finalizer_ext;
  struct {
    ApiTableVersion version;
    Slot slots[kImageSlots5];
  } image_ext;

  const TableLayout layout;

  Rocm5Tables(ApiTables& tables, TableLayout wanted)
      : root{{1, sizeof(Root), 0, 0}, &core, &amd_ext, &finalizer_ext, &image_ext},
        core(tables.core),
        amd_ext{},
        finalizer_ext(tables.finalizer_ext),
        image_ext{},
        layout(wanted) {
    core.version = {1, sizeof core, 0, 0};
    const size_t amd_bytes = sizeof amd_ext.version + amd_slots(layout) * sizeof(Slot);
    amd_ext.version = {1, static_cast<uint32_t>(amd_bytes), 0, 0};
    finalizer_ext.version = {1, sizeof finalizer_ext, 0, 0};
    image_ext.version = {1, sizeof image_ext, 0, 0};
    for (size_t i = 0; i < amd_slots(layout); ++i)
      amd_ext.slots[i] = slots(tables.amd_ext)[amd_slot(layout, i)];
    for (size_t i = 0; i < kImageSlots5; ++i) image_ext.slots[i] = slots(tables.image_ext)[i];
  }

  // Every entry, changed or not: no other thread has stored to the tables in between.
  void store_to(ApiTables& tables) {
    for (size_t i = 0; i < slots_of(sizeof core); ++i) store_slot(slots(tables.core)[i], slots(core)[i]);
    for (size_t i = 0; i < amd_slots(layout); ++i)
      store_slot(slots(tables.amd_ext)[amd_slot(layout, i)], amd_ext.slots[i]);
    for (size_t i = 0; i < slots_of(sizeof finalizer_ext); ++i)
      store_slot(slots(tables.finalizer_ext)[i], slots(finalizer_ext)[i]);
    for (size_t i = 0; i < kImageSlots5; ++i) store_slot(slots(tables.image_ext)[i], image_ext.slots[i]);
  }
};

bool HsaTools::offer(void* on_load, ApiTables& tables, TableLayout layout) {
  std::vector<const char*> failed;
  for (const std::string& name : failed_) failed.push_back(name.c_str());
  const auto call = [&](auto* table, uint64_t version) {
    return reinterpret_cast<OnLoad>(on_load)(reinterpret_cast<HsaApiTable*>(table), version, failed.size(),
                                             failed.data());
  };
  if (layout == TableLayout::kCurrent) return call(&tables.root, tables.root.version.major_id);
  // The tool may keep it until the process ends, also if it fails.
  static auto* const kept = new std::vector<std::unique_ptr<Rocm5Tables>>;
  Rocm5Tables& older = *kept->emplace_back(std::make_unique<Rocm5Tables>(tables, layout));
  if (!call(&older.root, older.root.version.major_id)) return false;
  older.store_to(tables);
  return true;
}

Explained<std::string> HsaTools::load(const std::string& name, const std::string& path, TableLayout layout,
                                      ApiTables& tables) {
  const auto refuse = [&](std::string why) {
    failed_.push_back(name);
    return tl::unexpected(std::move(why));
  };
  if (abandoned_) return refuse("the process was forked while tools were being loaded");
  log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: loading {}", name, path);
  if (path.starts_with('/')) {
    if (const auto good = DynamicModule::open(path); !good) return refuse(good.error());
  }
  // The dynamic linker finds a name without a directory. Never closed.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    return refuse(text != nullptr ? text : "the dynamic linker reports no reason");
  }
  tried_.push_back(handle);
  const auto same = [&](const Loaded& other) { return other.handle == handle; };
  if (std::any_of(loaded_.begin(), loaded_.end(), same)) return std::string("already loaded");
  void* const on_load = ::dlsym(handle, "OnLoad");
  if (on_load == nullptr) return refuse("does not export OnLoad");

  auto one = std::make_unique<Loaded>(
      Loaded{name, handle, &tables, tables, reinterpret_cast<void (*)()>(::dlsym(handle, "OnUnload"))});
  bool good = false;
  std::string why = "OnLoad() returned false";
  // A tool that checks versions rejects tables of other layouts, and is offered the next layout.
  std::vector<TableLayout> offers{layout};
  if (layout == TableLayout::kEither) {
    const ToolLayout likely = find_tool_layout(handle);
    if (!likely.reason.empty()) {
      log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: table layout {}: {}", name,
                  kTableLayouts[static_cast<size_t>(likely.layout)], likely.reason);
    }
    offers = likely.layout == TableLayout::kEither || likely.layout == TableLayout::kCurrent
                 ? std::vector{TableLayout::kCurrent, TableLayout::kRocm5}
                 : std::vector{likely.layout, TableLayout::kCurrent};
  }
  try {
    for (size_t i = 0; i < offers.size() && !good; ++i) {
      if (i != 0) store_entries(tables, one->before);
      good = offer(on_load, tables, offers[i]);
    }
  } catch (const std::exception& problem) {
    why = fmt::format("OnLoad() threw: {}", problem.what());
  } catch (...) {
    why = "OnLoad() threw an exception";
  }
  // The pointers between tables are not entries. Other threads may be reading them.
  if (std::memcmp(&tables.root, &one->before.root, sizeof tables.root) != 0) tables.root = one->before.root;
  if (!good) {
    store_entries(tables, one->before);
    return refuse(std::move(why));
  }
  loaded_.push_back(std::move(*one));
  return path;
}

// rocprofiler-register: one function that takes the tables, and loads tools if the environment requests them.
// Sources: its public header, and ROCr's use of it.
bool HsaTools::hand_to_register(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts) {
  constexpr const char* kLibrary = "librocprofiler-register.so.0";
  constexpr uint32_t kVersion = 1 * 10000 + 18 * 100;  // of the interface, as in the installed package
  using Import = uint32_t (*)();
  using Register =
      int (*)(const char* name, Import import, uint32_t version, void** tables, uint64_t count, uint64_t* id);
  if (is_elevated()) return false;
  const char* const disabled = environment("HSA_TOOLS_DISABLE_REGISTER");
  if (disabled != nullptr && std::string_view(disabled) == "1") return false;
  void* const handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return false;  // the usual case
  auto* const hand_over =
      reinterpret_cast<Register>(::dlsym(handle, "rocprofiler_register_library_api_table"));
  const auto say = [&](Outcome outcome, std::string_view text) {
    runtime.report().add(Stage::kTool, outcome, kLibrary, text);
    const auto state = outcome == Outcome::kOk        ? HSA_VEN_RIGEL_TOOL_LOADED
                       : outcome == Outcome::kSkipped ? HSA_VEN_RIGEL_TOOL_DISABLED
                                                      : HSA_VEN_RIGEL_TOOL_FAILED;
    facts.push_back({.state = state,
                     .name = kLibrary,
                     .library = kLibrary,
                     .abi = "hsa_tools",
                     .named_by = "rocprofiler-register",
                     .reason = outcome == Outcome::kOk ? "" : std::string(text)});
  };
  if (hand_over == nullptr) {
    say(Outcome::kFailed, "does not export rocprofiler_register_library_api_table");
    return false;
  }
  const auto without_guards = std::make_unique<const ApiTables>(tables);
  guard_entries(tables);
  auto one = std::make_unique<Loaded>(Loaded{kLibrary, handle, &tables, tables, nullptr});
  void* table = &tables.root;
  uint64_t id = 0;
  constexpr int kSuccess = 0;
  constexpr int kNoTools = 1;
  constexpr int kTooOften = 7;  // it keeps the tables of each hsa_init, and has a small limit
  int answer = -1;
  std::string why = "rocprofiler_register_library_api_table() threw an exception";
  try {
    answer = hand_over(
        "hsa", [] { return kVersion; }, kVersion, &table, 1, &id);
    why = fmt::format("rejects the API tables with status {}", answer);
  } catch (...) {
  }
  if (answer != kSuccess) {
    store_entries(tables, *without_guards);
    if (answer == kNoTools) {
      register_has_tools_ = false;
      say(Outcome::kSkipped, "no tool is requested");
    } else if (answer == kTooOften) {
      say(register_has_tools_ ? Outcome::kFailed : Outcome::kSkipped,
          "does not accept the API tables of this process again");
    } else {
      say(Outcome::kFailed, why);
    }
    return false;
  }
  say(Outcome::kOk, "has the API tables");
  register_has_tools_ = true;
  facts.back().functions = differing_functions(one->before, tables);
  loaded_.push_back(std::move(*one));
  const char* const first_version = environment("HSA_TOOLS_ROCPROFILER_V1_TOOLS");
  return first_version == nullptr || std::string_view(first_version) != "1";
}

void HsaTools::load_from_environment(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts) {
  tried_.clear();
  failed_.clear();
  abandoned_ = false;
  if (hand_to_register(tables, runtime, facts)) return;
  const TableLayout layout = tool_layout_of_environment();
  const char* const reported = environment("HSA_TOOLS_REPORT_LOAD_FAILURE");
  const auto outcome_of_failure =
      reported != nullptr && std::string_view(reported) == "0" ? Outcome::kSkipped : Outcome::kFailed;
  const auto load_and_say = [&](const std::string& name, const char* whence) {
    guard_entries(tables);
    const auto before = std::make_unique<const ApiTables>(tables);
    // In an elevated process, only libraries that root owns, including loaded ones.
    const LoaderEnvironment& environment = runtime.loader_environment();
    auto done = environment.elevated ? environment.find_library(name, {}, {}) : Explained<std::string>(name);
    if (done) done = load(name, name, layout, tables);
    facts.push_back({.state = done ? HSA_VEN_RIGEL_TOOL_LOADED : HSA_VEN_RIGEL_TOOL_FAILED,
                     .name = name.substr(name.rfind('/') + 1),
                     .library = name,
                     .abi = "hsa_tools",
                     .named_by = whence,
                     .reason = done ? "" : done.error(),
                     .functions = differing_functions(*before, tables)});
    runtime.report().add(Stage::kTool, done ? Outcome::kOk : outcome_of_failure, name,
                         fmt::format("{}: {}", whence, done ? *done : done.error()));
  };
  if (const char* const list = trusted_environment("HSA_TOOLS_LIB"); list != nullptr) {
    for (const std::string& name : split_tool_list(list)) load_and_say(name, "HSA_TOOLS_LIB");
  }
  // Loaded libraries that declare themselves tools, lowest priority first.
  struct Found {
    uint32_t priority;
    std::string path;
  };
  std::vector<Found> found;
  std::vector<std::string> paths;
  // Exceptions must not pass through the C library.
  const auto keep = [](dl_phdr_info* info, size_t, void* out) noexcept {
    if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
    try {
      static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
      return 0;
    } catch (...) {
      return 1;
    }
  };
  if (::dl_iterate_phdr(keep, &paths) != 0) throw std::bad_alloc();
  for (const std::string& path : paths) {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    // Skips libraries of HSA_TOOLS_LIB.
    const bool is_new = std::find(tried_.begin(), tried_.end(), handle) == tried_.end();
    const auto* const priority = static_cast<const uint32_t*>(::dlsym(handle, "HSA_AMD_TOOL_PRIORITY"));
    const link_map* map = nullptr;
    Dl_info where{};
    // A handle also finds symbols of a library's dependencies; this checks that the symbol is in the library
    // itself.
    if (is_new && priority != nullptr && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
        ::dladdr(priority, &where) != 0 && where.dli_fbase == reinterpret_cast<void*>(map->l_addr)) {
      found.push_back({*priority, path});
    }
    ::dlclose(handle);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.priority < b.priority; });
  for (const Found& one : found) load_and_say(one.path, "HSA_AMD_TOOL_PRIORITY");
}

bool HsaTools::unload_last() noexcept {
  if (loaded_.empty()) return false;
  const Loaded tool = std::move(loaded_.back());
  loaded_.pop_back();  // before the call of the tool, which may fork: the child has no tools
  // Events come on threads of the runtime, which must not call an unloaded tool.
  store_entries_of(tool.tables->tools, tool.before.tools);
  KeepTools::wait_for_others();
  if (tool.on_unload != nullptr) {
    log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: unloading", tool.name);
    try {
      tool.on_unload();
    } catch (...) {
      log_message(LogLevel::kError, LogTopic::kChain, "tool {}: OnUnload() threw an exception", tool.name);
    }
  }
  store_entries(*tool.tables, tool.before);
  return true;
}

}  // namespace rigel::api
