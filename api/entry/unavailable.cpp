// Functions that return only an unsupported status, generated from the list.
#include "api/entry/functions.hpp"
#include "api/support/status.hpp"

#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace rigel::api {

#define RIGEL_API_UNAVAILABLE(table, result, name, parameters, arguments, status, reason) \
  result name parameters {                                                                \
    return fail(static_cast<result>(status), #name ": " reason);                          \
  }
#define RIGEL_API_TABLE_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#define RIGEL_API_EXPORT_ONLY_UNAVAILABLE RIGEL_API_UNAVAILABLE
#include "api/entry/functions.inc"

}  // namespace rigel::api
