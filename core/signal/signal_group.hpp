// Groups of signals (hsa_signal_group_*): a fixed list that threads wait on together.
//
// A SignalGroups is part of a runtime and lives as long as the runtime is initialised. Any thread may call
// anything; a group that is destroyed while a thread waits on it is kept until that wait is over. A group
// refers to its signals and does not own them: a member that is destroyed is ignored from then on, also if a
// younger signal gets its handle.
#pragma once

#include <hsa/hsa.h>

#include <memory>
#include <vector>

#include "core/base/handle_table.hpp"
#include "core/base/status.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

class SignalGroups {
 public:
  /// As hsa_signal_group_create. INVALID_ARGUMENT for an empty or null list of signals or consumers, a
  /// repeated element in either, or a null `group`; INVALID_SIGNAL for a handle that is no live signal;
  /// OUT_OF_RESOURCES without memory. Who the consumers are makes no difference.
  Status create(uint32_t signal_count, const hsa_signal_t* signals, uint32_t consumer_count,
                const hsa_agent_t* consumers, hsa_signal_group_t* group) noexcept;

  /// As hsa_signal_group_destroy. INVALID_SIGNAL_GROUP if there is no such group.
  Status destroy(hsa_signal_group_t group) noexcept;

  /// As hsa_signal_group_wait_any_scacquire: waits without a limit for a signal of the group to satisfy the
  /// condition at its index. INVALID_SIGNAL_GROUP if there is no such group; INVALID_ARGUMENT for a null
  /// pointer or a condition that is none; INVALID_SIGNAL when no signal of the group is left;
  /// OUT_OF_RESOURCES without memory.
  Status wait_any(hsa_signal_group_t group, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* compare_values, hsa_wait_state_t hint, hsa_signal_t* signal,
                  hsa_signal_value_t* value) noexcept;

  /// Ends all groups, when the runtime shuts down.
  void clear() noexcept;

 private:
  struct Member {
    Signal* signal;
    uint32_t generation;  // of the signal that was meant
  };
  using Group = std::vector<Member>;

  HandleTable<Group> groups_{HandleKind::kSignalGroup};
};

}  // namespace rigel
