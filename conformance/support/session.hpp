// A reference to the runtime: hsa_init when it is made, hsa_shut_down when it goes.
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
