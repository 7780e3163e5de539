// Reports the reason for a failing call.
#pragma once

#include <cstdarg>
#include <cstdio>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// Reports the formatted text and returns `status`.
[[gnu::format(printf, 3, 4)]] inline hsabe_status_t refuse(const hsabe_host_t* host, hsabe_status_t status,
                                                           const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return hsabe::fail(host, status, text);
}

}  // namespace rigel::cpu
