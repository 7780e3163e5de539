// The runtime's services for the backend of one device, as defined by the backend ABI.
//
// *Lifetime:* created before its device is opened, destroyed after it is closed.
// *Threads:* any thread may call the services.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/driver/kfd.hpp"
#include "loader/module/module_options.hpp"

namespace rigel {

struct Foundation;

class HostServices {
 public:
  /// `node` is the NUMA node of the device's host memory; `gpu` is the device if it is one of amdkfd's.
  HostServices(Foundation& foundation, std::string backend, ModuleOptions options, uint32_t node,
               KfdGpu* gpu = nullptr);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const hsabe_host_t* host() const { return &host_; }

  Foundation& foundation() const { return foundation_; }
  const std::string& backend() const { return backend_; }
  const ModuleOptions& options() const { return options_; }
  uint32_t node() const { return node_; }
  KfdGpu* gpu() const { return gpu_; }
  /// Initial compute units of the backend's queues, one bit each; empty: all. Set before the device is
  /// opened.
  const std::vector<uint32_t>& own_units() const { return own_units_; }
  void set_own_units(std::vector<uint32_t> units) { own_units_ = std::move(units); }

 private:
  Foundation& foundation_;
  const std::string backend_;
  const ModuleOptions options_;
  const uint32_t node_;
  KfdGpu* const gpu_;
  std::vector<uint32_t> own_units_;
  const hsabe_host_signal_t signal_;
  hsabe_host_t host_;
};

}  // namespace rigel
