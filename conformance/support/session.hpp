// A reference to the runtime: the constructor calls hsa_init, the destructor hsa_shut_down.
#pragma once

#include <hsa/hsa.h>

namespace conformance {

class Session {
 public:
  Session() : status_(hsa_init()) {}
  ~Session() {
    if (status_ == HSA_STATUS_SUCCESS) hsa_shut_down();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  hsa_status_t status() const { return status_; }

 private:
  hsa_status_t status_;
};

}  // namespace conformance
