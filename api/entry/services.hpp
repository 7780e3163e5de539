// The running runtime's services, by short names. Functions of the API may use them: the open tables hold a
// reference to the runtime.
#pragma once

#include "core/runtime/runtime.hpp"

namespace rigel::api {

inline const Machine& machine() {
  return Runtime::current().machine();
}
inline Heaps& heaps() {
  return Runtime::current().memory().heaps;
}
inline VirtualMemory& virtual_memory() {
  return Runtime::current().memory().virtual_memory;
}
inline SharedMemory& shared_memory() {
  return Runtime::current().memory().shared;
}
inline LockedMemory& locked_memory() {
  return Runtime::current().memory().locked;
}
inline PointerMap& pointers() {
  return Runtime::current().memory().pointers;
}
inline CopyEngine& copies() {
  return Runtime::current().copies();
}
inline Images& images() {
  return Runtime::current().images();
}
inline PcSampling& pc_sampling_service() {
  return Runtime::current().pc_sampling();
}
inline ExecutableRegistry& executables() {
  return Runtime::current().executables();
}
inline Queues& queues() {
  return Runtime::current().queues();
}
inline SignalGroups& signal_groups() {
  return Runtime::current().signal_groups();
}
inline SystemEvents& system_events() {
  return Runtime::current().system_events();
}

}  // namespace rigel::api
