// Accesses that waves ask for may race with each other and with the host: that is the program's business.
// Where code that ThreadSanitizer looks at does them, this tells it not to.
#pragma once

#include <hsa_backend/sanitizer.h>

#if HSABE_SANITIZER == HSABE_SANITIZER_THREAD
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace rigel::vgpu::exec {

/// While one lives, this thread's accesses are the waves'.
class GuestAccess {
 public:
#if HSABE_SANITIZER == HSABE_SANITIZER_THREAD
  GuestAccess() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~GuestAccess() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  GuestAccess() {}  // not trivial, so that an unused one is not worth a warning
  ~GuestAccess() {}
#endif
  GuestAccess(const GuestAccess&) = delete;
  GuestAccess& operator=(const GuestAccess&) = delete;
};

}  // namespace rigel::vgpu::exec
