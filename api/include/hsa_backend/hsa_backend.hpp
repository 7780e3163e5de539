// C++ helpers for the backend ABI: strings, conversion of exceptions, and reports of failures.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

/// Exports the definition of hsa_backend_query_v1 that follows.
#define HSABE_EXPORT extern "C" __attribute__((visibility("default")))

namespace hsabe {

constexpr hsabe_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr std::string_view view(hsabe_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

/// Reports the reason of a failure and returns `status`, for the caller to return.
inline hsabe_status_t fail(const hsabe_host_t* host, hsabe_status_t status, std::string_view why) noexcept {
  host->events->report(host->self, str(why));
  return status;
}

/// Logs a problem that the backend works around, such as an invalid option.
inline void warn(const hsabe_host_t* host, std::string_view what) noexcept {
  host->log->write(host->self, HSABE_LOG_WARN, str(what));
}

/// Runs `body` and converts its exceptions to a status: no exception may reach the runtime.
template <class Body>
hsabe_status_t guarded(const hsabe_host_t* host, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
  } catch (const std::exception& problem) {
    return fail(host, HSA_STATUS_ERROR, problem.what());
  } catch (...) {
    return fail(host, HSA_STATUS_ERROR, "exception of unknown type");
  }
}

/// The value of the node's property, or `fallback`.
inline uint64_t property(const hsabe_node_t* node, std::string_view name, uint64_t fallback = 0) {
  for (uint64_t i = 0; i < node->property_count; ++i) {
    if (view(node->properties[i].name) == name) return node->properties[i].value;
  }
  return fallback;
}

}  // namespace hsabe
