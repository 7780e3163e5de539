#include "api/entry/tables.hpp"

#include <cstddef>
#include "api/entry/fence.hpp"

namespace rigel::api {
namespace {

// --- What a closed runtime answers -----------------------------------------------------------------------

template <class Result>
constexpr Result kClosedAnswer{};
template <>
constexpr hsa_status_t kClosedAnswer<hsa_status_t> = HSA_STATUS_ERROR_NOT_INITIALIZED;
template <>  // hsa_amd_signal_wait_any and _all: the index of no signal
constexpr uint32_t kClosedAnswer<uint32_t> = UINT32_MAX;

template <class Function>
struct Closed;

template <class Result, class... Args>
struct Closed<Result (*)(Args...)> {
  static Result call(Args...) noexcept {
    if constexpr (!std::is_void_v<Result>) return kClosedAnswer<Result>;
  }
};

// --- The two sets ----------------------------------------------------------------------------------------

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
#include "api/entry/functions.inc"
  tables.core.hsa_init_fn = &Fenced<&hsa_init>::call;
  tables.core.hsa_shut_down_fn = &Fenced<&hsa_shut_down>::call;
  tables.core.hsa_status_string_fn = &Fenced<&hsa_status_string>::call;
  return tables;
}

constinit const ApiTables closed_tables = make_closed_tables();
constinit ApiTables open_tables{};

template <class Value>
void store_slot(Value& slot, Value value) noexcept {
  std::atomic_ref<Value>(slot).store(value, std::memory_order_relaxed);
}

}  // namespace

constinit std::atomic<const ApiTables*> current_tables{&closed_tables};

HsaApiTable* prepare_open_tables() noexcept {
  set_versions(open_tables);
  open_tables.root.core_ = &open_tables.core;
  open_tables.root.amd_ext_ = &open_tables.amd_ext;
  open_tables.root.finalizer_ext_ = &open_tables.finalizer_ext;
  open_tables.root.image_ext_ = &open_tables.image_ext;
  open_tables.root.tools_ = &open_tables.tools;
  open_tables.root.pc_sampling_ext_ = &open_tables.pc_sampling_ext;
#define RIGEL_API(table, result, name, parameters, arguments) \
  store_slot<result(*) parameters>(open_tables.table.name##_fn, Fenced<&name>::call);
#define RIGEL_API_TABLE_ONLY RIGEL_API
#include "api/entry/functions.inc"
  return &open_tables.root;
}

bool is_open() noexcept {
  return current_tables.load(std::memory_order_acquire) != &closed_tables;
}

void publish_open_tables() noexcept {
  current_tables.store(&open_tables, std::memory_order_release);
}

void publish_closed_tables() noexcept {
  current_tables.store(&closed_tables, std::memory_order_release);
}

}  // namespace rigel::api
