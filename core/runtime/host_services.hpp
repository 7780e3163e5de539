// The runtime's side of the backend ABI: the services that one device's backend is given.
//
// One HostServices is made for each device before it is opened, and lives until it is closed. The services
// may be called from any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/driver/kfd.hpp"
#include "loader/module/module_options.hpp"

namespace rigel {

class Runtime;

class HostServices {
 public:
  /// `node` is the NUMA node that the device's host memory comes from; `gpu` the device if it is one of
  /// amdkfd's.
  HostServices(Runtime& runtime, std::string backend, ModuleOptions options, uint32_t node,
               KfdGpu* gpu = nullptr);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const hsabe_host_t* host() const { return &host_; }

  Runtime& runtime() const { return runtime_; }
  const std::string& backend() const { return backend_; }
  const ModuleOptions& options() const { return options_; }
  uint32_t node() const { return node_; }
  KfdGpu* gpu() const { return gpu_; }
  /// The compute units that queues of the backend's own begin with, one bit each; empty: all. Before the
  /// device is opened.
  const std::vector<uint32_t>& own_units() const { return own_units_; }
  void set_own_units(std::vector<uint32_t> units) { own_units_ = std::move(units); }

 private:
  Runtime& runtime_;
  const std::string backend_;
  const ModuleOptions options_;
  const uint32_t node_;
  KfdGpu* const gpu_;
  std::vector<uint32_t> own_units_;
  const hsabe_host_signal_t signal_;
  hsabe_host_t host_;
};

}  // namespace rigel
