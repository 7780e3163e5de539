// Failures that several API functions of this directory report.
#pragma once

#include "api/support/status.hpp"

namespace rigel {

inline Failure null_argument(const char* function) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{}: an argument is NULL", function);
}

inline Failure no_such(Status status, const char* what, uint64_t handle) {
  return fail(status, "{} {:#x}: invalid handle", what, handle);
}

inline Failure no_executable(hsa_executable_t executable) {
  return no_such(HSA_STATUS_ERROR_INVALID_EXECUTABLE, "executable", executable.handle);
}

inline Failure frozen_executable() {
  return fail(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, "executable: is frozen");
}

inline Failure no_agent(hsa_agent_t agent) {
  return no_such(HSA_STATUS_ERROR_INVALID_AGENT, "agent", agent.handle);
}

inline Failure no_reader(hsa_code_object_reader_t reader) {
  return no_such(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, "code object reader", reader.handle);
}

inline Failure no_code_object(hsa_code_object_t code_object) {
  return no_such(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "code object", code_object.handle);
}

}  // namespace rigel
