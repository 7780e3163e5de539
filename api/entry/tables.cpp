#include "api/entry/tables.hpp"

#include <cstddef>
#include "api/entry/fence.hpp"

namespace rigel::api {
namespace {

// --- Results of a closed runtime ---------------------------------------------------------------------------

template <class Result>
constexpr Result kClosedAnswer{};
template <>
constexpr hsa_status_t kClosedAnswer<hsa_status_t> = HSA_STATUS_ERROR_NOT_INITIALIZED;
template <>  // hsa_amd_signal_wait_any and _all: an invalid index
constexpr uint32_t kClosedAnswer<uint32_t> = UINT32_MAX;

template <class Function>
struct Closed;

template <class Result, class... Args>
struct Closed<Result (*)(Args...)> {
  static Result call(Args...) noexcept {
    if constexpr (!std::is_void_v<Result>) return kClosedAnswer<Result>;
  }
};

// --- The open and closed sets ------------------------------------------------------------------------------

template <class Table>
constexpr ApiTableVersion version(uint32_t major, uint32_t step) {
  return {major, sizeof(Table), step, 0};
}

constexpr void set_versions(ApiTables& tables) {
  tables.root.version = version<HsaApiTable>(HSA_API_TABLE_MAJOR_VERSION, HSA_API_TABLE_STEP_VERSION);
  tables.core.version =
      version<CoreApiTable>(HSA_CORE_API_TABLE_MAJOR_VERSION, HSA_CORE_API_TABLE_STEP_VERSION);
  tables.amd_ext.version =
      version<AmdExtTable>(HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, HSA_AMD_EXT_API_TABLE_STEP_VERSION);
  tables.finalizer_ext.version =
      version<FinalizerExtTable>(HSA_FINALIZER_API_TABLE_MAJOR_VERSION, HSA_FINALIZER_API_TABLE_STEP_VERSION);
  tables.image_ext.version =
      version<ImageExtTable>(HSA_IMAGE_API_TABLE_MAJOR_VERSION, HSA_IMAGE_API_TABLE_STEP_VERSION);
  tables.tools.version =
      version<ToolsApiTable>(HSA_TOOLS_API_TABLE_MAJOR_VERSION, HSA_TOOLS_API_TABLE_STEP_VERSION);
  tables.pc_sampling_ext.version = version<PcSamplingExtTable>(HSA_PC_SAMPLING_API_TABLE_MAJOR_VERSION,
                                                               HSA_PC_SAMPLING_API_TABLE_STEP_VERSION);
}

constexpr ApiTables make_closed_tables() {
  ApiTables tables{};
  set_versions(tables);
#define RIGEL_API(table, result, name, parameters, arguments) \
  tables.table.name##_fn = &Closed<result(*) parameters>::call;
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
  tables.core.hsa_init_fn = &Fenced<&hsa_init>::call;
  tables.core.hsa_shut_down_fn = &Fenced<&hsa_shut_down>::call;
  tables.core.hsa_status_string_fn = &Fenced<&hsa_status_string>::call;
  return tables;
}

constinit const ApiTables closed_tables = make_closed_tables();
constinit ApiTables open_tables{};
constinit ApiTables tables_of_tools{};

void point_to_tables(ApiTables& tables) {
  tables.root.core_ = &tables.core;
  tables.root.amd_ext_ = &tables.amd_ext;
  tables.root.finalizer_ext_ = &tables.finalizer_ext;
  tables.root.image_ext_ = &tables.image_ext;
  tables.root.tools_ = &tables.tools;
  tables.root.pc_sampling_ext_ = &tables.pc_sampling_ext;
}

// Fills every slot of `tables` with the functions of an open or a closed runtime.
void fill(ApiTables& tables, bool open) {
#define RIGEL_API(table, result, name, parameters, arguments) \
  store_slot<result(*) parameters>(tables.table.name##_fn,    \
                                   open ? Fenced<&name>::call : closed_tables.table.name##_fn);
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
}

}  // namespace

constinit std::atomic<const ApiTables*> current_tables{&closed_tables};

ApiTables& prepare_open_tables() noexcept {
  open_tables.tools = {};  // removes entries of tools of an earlier runtime
  for (ApiTables* const tables : {&open_tables, &tables_of_tools}) {
    set_versions(*tables);
    point_to_tables(*tables);
    fill(*tables, true);
  }
  return open_tables;
}

void guard_entries(ApiTables& tables) noexcept {
#define RIGEL_API(table, result, name, parameters, arguments)                                       \
  {                                                                                                 \
    using Function = result(*) parameters;                                                          \
    if (load_slot(tables.table.name##_fn) == static_cast<Function>(Fenced<&name>::call)) {          \
      store_slot<Function>(tables.table.name##_fn, [] parameters -> result {                        \
        return is_open() ? Fenced<&name>::call arguments : closed_tables.table.name##_fn arguments; \
      });                                                                                           \
    }                                                                                               \
  }
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
}

const HsaApiTable& own_tables() noexcept {
  return tables_of_tools.root;
}

bool is_open() noexcept {
  return current_tables.load(std::memory_order_acquire) != &closed_tables;
}

void publish_open_tables() noexcept {
  current_tables.store(&open_tables, std::memory_order_release);
}

void publish_closed_tables() noexcept {
  current_tables.store(&closed_tables, std::memory_order_release);
  if (tables_of_tools.root.core_ != nullptr) fill(tables_of_tools, false);
}

}  // namespace rigel::api
