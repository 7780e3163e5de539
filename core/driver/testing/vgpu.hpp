// The virtual GPU as an in-process transport, for tests and benchmarks of the driver's connection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/driver/kfd.hpp"
#include "core/driver/kfd_topology.hpp"
#include "core/driver/testing/boards.hpp"
#include "loader/module/loaded_driver.hpp"
#include "loader/module/module_query.hpp"

namespace rigel::testing {

using Ioctl = decltype(hsadrv_ops_t::ioctl);
/// The virtual GPU's ioctl after its start, for functions that replace it.
inline Ioctl vgpu_ioctl = nullptr;

/// Returns null if it does not start. `gpus` as for the option of this name. `instead`, if not null, is
/// called for every ioctl.
inline std::unique_ptr<Transport> start_vgpu(const std::string& gpus, Ioctl instead = nullptr) {
  const auto table = query_module<hsadrv_driver_t>(RIGEL_VGPU_DRIVER, HSADRV_ENTRY_SYMBOL, HSADRV_ABI_MAJOR,
                                                   HSADRV_ABI_MINOR);
  if (!table) return nullptr;
  auto driver = read_driver_table(*table, RIGEL_VGPU_DRIVER);
  if (!driver) return nullptr;
  vgpu_ioctl = driver->ops.ioctl;
  if (instead != nullptr) driver->ops.ioctl = instead;
  std::vector<std::string> errors;
  auto transport = Transport::start(*driver, R"({"gpus": ")" + boards(gpus) + R"("})", errors);
  return transport ? std::move(*transport) : nullptr;
}

inline std::unique_ptr<Kfd> open_vgpu(const std::string& gpus, Ioctl instead = nullptr) {
  auto transport = start_vgpu(gpus, instead);
  if (transport == nullptr) return nullptr;
  std::string why;
  auto kfd = Kfd::open(std::move(transport), why);
  if (!kfd) return nullptr;
  const auto topology = read_kfd_topology((*kfd)->transport());
  if (!topology) return nullptr;
  for (const KfdNode& node : topology->nodes) {
    if (node.is_gpu() && !(*kfd)->add_gpu(node, why)) return nullptr;
  }
  return std::move(*kfd);
}

}  // namespace rigel::testing
