// Chapter 6 of rules.inc: objects that are left when the runtime is shut down, and deprecated functions.
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

// Returns whether the program has to destroy such an object.
bool must_be_destroyed(Kind kind, const Object& object) {
  switch (kind) {
    case Kind::kAgent:
    case Kind::kRegion:
    case Kind::kPool:
    case Kind::kIsa:
    case Kind::kCache:
    case Kind::kWavefront:
    case Kind::kSymbol:
    case Kind::kLoadedObject:
      return false;
    case Kind::kSignal:
      return object.parent == 0;  // a doorbell is destroyed with its queue
    default:
      return true;
  }
}

void calling_deprecated(Validator& validator, hsatool_call_t& call) {
  validator.report(Rule::kDeprecated, call, "deprecated");
}

}  // namespace

void Validator::finish() {
  waits.stop();
  if (reporter.applies(Rule::kLeak)) {
    struct Left {
      uint64_t count = 0;
      uint64_t bytes = 0;
      uint64_t handle = 0;
      Event created;
    };
    // Objects created by the same call stack share one report.
    std::map<std::tuple<Kind, const hsatool_function_t*, Place>, Left> all;
    registry.for_each_live([&](Kind kind, uint64_t handle, const Object& object) {
      if (!must_be_destroyed(kind, object)) return;
      Left& left = all[{kind, object.created.function, object.created.place}];
      ++left.count;
      left.bytes += object.bytes;
      left.handle = handle;
      left.created = object.created;
    });
    for (const auto& [key, left] : all) {
      std::string text = fmt::format("{} {:#x}", name_of(std::get<Kind>(key)), left.handle);
      if (left.count > 1) text += fmt::format(" and {} more", left.count - 1);
      if (left.bytes != 0) text += fmt::format(", {} bytes", left.bytes);
      report(Rule::kLeak, "hsa_shut_down", text + describe(left.created, "created"));
    }
  }
  reporter.report_omitted_counts();
}

std::span<const Hooks> shutdown_hooks() {
  static const std::vector<Hooks> kHooks = [] {
    std::vector<Hooks> hooks;
    for (const uint32_t function :
         {HSATOOL_ID_hsa_system_extension_supported, HSATOOL_ID_hsa_system_get_extension_table,
          HSATOOL_ID_hsa_agent_get_exception_policies, HSATOOL_ID_hsa_agent_extension_supported,
          HSATOOL_ID_hsa_isa_get_info, HSATOOL_ID_hsa_isa_compatible, HSATOOL_ID_hsa_executable_create,
          HSATOOL_ID_hsa_executable_get_symbol, HSATOOL_ID_hsa_executable_iterate_symbols,
          HSATOOL_ID_hsa_executable_load_code_object, HSATOOL_ID_hsa_code_object_serialize,
          HSATOOL_ID_hsa_code_object_deserialize, HSATOOL_ID_hsa_code_object_destroy,
          HSATOOL_ID_hsa_code_object_get_info, HSATOOL_ID_hsa_code_object_get_symbol,
          HSATOOL_ID_hsa_code_object_get_symbol_from_name, HSATOOL_ID_hsa_code_symbol_get_info,
          HSATOOL_ID_hsa_code_object_iterate_symbols})
      hooks.push_back({static_cast<uint32_t>(function), calling_deprecated, nullptr});
    return hooks;
  }();
  return kHooks;
}

}  // namespace validate
