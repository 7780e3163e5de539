// A thin C++ side of the backend ABI: strings, the exception fence, and reports of failure.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

/// Put before the definition of hsa_backend_query_v1.
#define HSABE_EXPORT extern "C" __attribute__((visibility("default")))

namespace hsabe {

constexpr hsabe_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr std::string_view view(hsabe_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

/// Explains the failure that the caller is about to return, and returns it.
inline hsabe_status_t fail(const hsabe_host_t* host, hsabe_status_t status, std::string_view why) noexcept {
  host->events->report(host->self, str(why));
  return status;
}

/// Says what is wrong and does not keep the backend from working: an option that cannot be, for instance.
inline void warn(const hsabe_host_t* host, std::string_view what) noexcept {
  host->log->write(host->self, HSABE_LOG_WARN, str(what));
}

/// Runs `body` and turns what it throws into a status: no exception may cross the line.
template <class Body>
hsabe_status_t guarded(const hsabe_host_t* host, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
  } catch (const std::exception& problem) {
    return fail(host, HSA_STATUS_ERROR, problem.what());
  } catch (...) {
    return fail(host, HSA_STATUS_ERROR, "an exception of unknown type");
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
