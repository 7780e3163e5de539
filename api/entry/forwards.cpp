// Functions of the API that only pass their arguments to a service of the core (functions.inc).
#include <type_traits>

#include "api/entry/functions.hpp"
#include "api/entry/services.hpp"
#include "core/copy/file_copy.hpp"
#include "core/signal/signal_api.hpp"

namespace rigel::api {
namespace {

FileCopies file_copies() {
  return {pointers(), copies()};
}

}  // namespace

#define RIGEL_API_FORWARD(table, result, name, parameters, arguments, service) \
  result name parameters noexcept(!std::is_same_v<result, hsa_status_t>) {     \
    return service arguments;                                                  \
  }
#include "api/entry/functions.inc"

}  // namespace rigel::api
