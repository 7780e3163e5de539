// A NUMA node as a device: its CPUs, the engine that runs work-groups on them, and its code.
//
// *Lifetime:* created by open, destroyed by close after its queues and images.
// *Threads:* any thread may use its members.
#pragma once

#include <cstdint>

#include <hsa_backend/hsa_backend.hpp>

#include "backends/cpu/code_store.hpp"
#include "backends/cpu/grid_engine.hpp"
#include "backends/cpu/threads.hpp"

namespace rigel::cpu {

/// Options of the manifest's `config` or the configuration file.
struct Options {
  uint32_t threads;  // threads that run work-groups, including a queue's; 0: one per CPU of the node
  uint64_t spin_ns;  // time that an idle thread polls for work before it sleeps

  static Options read(const hsabe_host_t* host);
};

class Device {
 public:
  Device(const hsabe_host_t* host, const hsabe_node_t* node);

  const hsabe_host_t* const host;
  const Options options;
  const cpu_set_t processors;
  /// options.spin_ns, or 0 with a single CPU: polling would delay the thread that submits work.
  const uint64_t spin_ns;
  const uint64_t spin_ticks;
  CodeStore code;
  Engine engine;
};

}  // namespace rigel::cpu
