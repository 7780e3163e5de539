// One NUMA node as a device: its processors, the engine that runs work-groups on them, and its code.
//
// Made by open, destroyed by close, when its queues and images are gone. What it refers to may be used from
// any thread.
#pragma once

#include <cstdint>

#include <hsa_backend/hsa_backend.hpp>

#include "backends/cpu/code_store.hpp"
#include "backends/cpu/grid_engine.hpp"
#include "backends/cpu/threads.hpp"

namespace rigel::cpu {

/// What the manifest's `config`, or the configuration file, can say.
struct Options {
  uint32_t threads;  // that run work-groups, a queue's own included; 0: one for each processor of the node
  uint64_t spin_ns;  // how long an idle thread looks for work before it sleeps

  static Options read(const hsabe_host_t* host);
};

class Device {
 public:
  Device(const hsabe_host_t* host, const hsabe_node_t* node);

  const hsabe_host_t* const host;
  const Options options;
  const cpu_set_t processors;
  /// options.spin_ns, but 0 where there is one processor: looking for work would keep away who brings it.
  const uint64_t spin_ns;
  const uint64_t spin_ticks;
  CodeStore code;
  Engine engine;
};

}  // namespace rigel::cpu
