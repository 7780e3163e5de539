/* A tool in C that uses the ABI directly. It answers requests for more than 1 MiB of memory with
 * OUT_OF_RESOURCES, which shows how a program handles this error. */
#include <hsa_plugin/hsa_tool.h>
#include <hsa_plugin/hsa_tool_calls.h>

enum { kLimit = 1 << 20 };

static hsatool_status_t load(const hsatool_host_t* host, void** tool) {
  *tool = (void*)host; /* valid until unload has returned */
  return HSA_STATUS_SUCCESS;
}

static int32_t wants(void* tool, const hsatool_function_t* function) {
  (void)tool;
  return function->id == HSATOOL_ID_hsa_memory_allocate ||
         function->id == HSATOOL_ID_hsa_amd_memory_pool_allocate;
}

static int32_t enter(void* tool, hsatool_call_t* call) {
  const hsatool_host_t* const host = tool;
  const size_t size = call->function->id == HSATOOL_ID_hsa_memory_allocate
                          ? ((hsatool_hsa_memory_allocate_args_t*)call->arguments)->size
                          : ((hsatool_hsa_amd_memory_pool_allocate_args_t*)call->arguments)->size;
  if (size <= kLimit) return HSATOOL_GO_ON;
  static const char kText[] = "rejected more than 1 MiB";
  const hsatool_str_t text = {kText, sizeof kText - 1};
  host->services->log(host->self, HSATOOL_LOG_WARN, text);
  *(hsa_status_t*)call->result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  return HSATOOL_ANSWERED;
}

/* The tool has no options: if `config` is not "{}", the runtime reports an error, together with the other
 * errors of the configuration file. */
static void check(hsatool_str_t config, const hsatool_mistakes_t* mistakes) {
  static const char kText[] = "there are no options";
  const hsatool_str_t text = {kText, sizeof kText - 1};
  if (config.size != 2) mistakes->add(mistakes->self, text);
}

static const hsatool_call_ops_t kCalls = {sizeof kCalls, wants, enter, NULL};
static const hsatool_plugin_t kPlugin = {.struct_size = sizeof kPlugin,
                                         .abi_major = HSATOOL_ABI_MAJOR,
                                         .abi_minor = HSATOOL_ABI_MINOR,
                                         .name = {"refuse", 6},
                                         .version = {"1.0", 3},
                                         .sanitizer = HSABE_SANITIZER,
                                         .load = load,
                                         .calls = &kCalls,
                                         .check = check};

__attribute__((visibility("default"))) const hsatool_plugin_t* hsa_tool_query_v1(uint32_t major,
                                                                                 uint32_t minor);
const hsatool_plugin_t* hsa_tool_query_v1(uint32_t major, uint32_t minor) {
  (void)minor;
  return major == HSATOOL_ABI_MAJOR ? &kPlugin : NULL;
}
