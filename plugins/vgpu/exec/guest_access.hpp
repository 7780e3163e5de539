// Accesses that waves request may race with each other and with the host; such races are the program's.
// GuestAccess excludes them from ThreadSanitizer's checks in instrumented code.
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
  GuestAccess() {}  // not trivial, so that compilers do not warn of unused variables
  ~GuestAccess() {}
#endif
  GuestAccess(const GuestAccess&) = delete;
  GuestAccess& operator=(const GuestAccess&) = delete;
};

}  // namespace rigel::vgpu::exec
