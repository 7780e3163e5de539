// The exported functions: each jumps through its slot of the current API table.
#include "api/entry/tables.hpp"

#define RIGEL_EXPORT extern "C" __attribute__((visibility("default")))

#define RIGEL_API(table, result, name, parameters, arguments)                                   \
  RIGEL_EXPORT result name parameters {                                                         \
    return rigel::api::load_slot(                                                               \
        rigel::api::current_tables.load(std::memory_order_acquire)->table.name##_fn) arguments; \
  }
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#define RIGEL_API_ALIAS(target, result, name, parameters, arguments) \
  RIGEL_EXPORT result name parameters __attribute__((alias(#target)));
#include "api/entry/functions.inc"
