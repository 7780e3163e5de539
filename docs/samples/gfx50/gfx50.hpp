// The parts of the sample backend for a GPU of amdkfd. The chip gfx5000 does not exist. Its board
// (boards/aurora.json) has the hardware of gfx1030, so code for gfx1030 runs on it. Comments mark the places
// at which a physical chip needs more.
#pragma once

#include <hsa_plugin/kfd_abi.h>
#include <hsa_backend/hsa_backend.hpp>

#include <cstdint>

namespace gfx50 {

// An open GPU. The runtime stores it as an opaque pointer.
struct Device {
  const hsabe_host_t* host;
  hsabe_driver_facts_t driver;
  uint32_t compute_units;
  uint32_t waves_per_cu;
  uint32_t control_stack_bytes;  // for saved waves, from the node; 0: not supported
  uint32_t save_area_bytes;

  // Returns 0 or -errno.
  template <class T>
  int32_t ioctl(uint32_t number, T& arguments) const {
    return host->driver->ioctl(host->self, number, &arguments, sizeof arguments);
  }
};

// The groups of functions.
extern const hsabe_device_ops_t kDevice;  // device.cpp
extern const hsabe_queue_ops_t kQueue;    // queue.cpp
extern const hsabe_code_ops_t kCode;      // code.cpp

}  // namespace gfx50
