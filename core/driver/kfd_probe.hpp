// Whether this machine has an amdkfd driver that this process may use, and if not, why.
#pragma once

#include <cstdint>
#include <string>

namespace rigel {

struct KfdProbe {
  enum class Answer { kAbsent, kForbidden, kNotKfd, kPresent };
  Answer answer = Answer::kAbsent;
  uint32_t major = 0;  ///< of the driver's interface, if present
  uint32_t minor = 0;
  std::string text;  ///< one line for the discovery report
};

/// Opens `path`, asks for the interface's version and closes it again. A device that opens but does not
/// answer as the driver would is kNotKfd.
KfdProbe probe_kfd(const char* path = "/dev/kfd");

}  // namespace rigel
