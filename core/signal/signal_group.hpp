// Groups of signals (hsa_signal_group_*): a fixed list on which threads wait together.
//
// *Threads:* any thread.
// *Lifetime:* part of a runtime. A group that is destroyed during a wait is kept until that wait returns. A
// group does not own its signals: a destroyed member is ignored, even if a newer signal has the same handle.
#pragma once

#include <hsa/hsa.h>

#include <memory>
#include <vector>

#include "api/support/handle_table.hpp"
#include "api/support/status.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

class SignalGroups {
 public:
  /// Implements hsa_signal_group_create. INVALID_ARGUMENT for an empty or null list of signals or consumers,
  /// a repeated element in either, or a null `group`; INVALID_SIGNAL for a handle that is not a live signal;
  /// OUT_OF_RESOURCES without memory. The consumers have no further effect.
  Status create(uint32_t signal_count, const hsa_signal_t* signals, uint32_t consumer_count,
                const hsa_agent_t* consumers, hsa_signal_group_t* group) noexcept;

  /// Implements hsa_signal_group_destroy. INVALID_SIGNAL_GROUP for an unknown group.
  Status destroy(hsa_signal_group_t group) noexcept;

  /// Implements hsa_signal_group_wait_any_scacquire: waits without a timeout until a signal satisfies the
  /// condition at its index. INVALID_SIGNAL_GROUP for an unknown group; INVALID_ARGUMENT for a null pointer
  /// or an unknown condition; INVALID_SIGNAL if no member is live; OUT_OF_RESOURCES without memory.
  Status wait_any(hsa_signal_group_t group, const hsa_signal_condition_t* conditions,
                  const hsa_signal_value_t* compare_values, hsa_wait_state_t hint, hsa_signal_t* signal,
                  hsa_signal_value_t* value) noexcept;

  void clear() noexcept;

 private:
  struct Member {
    Signal* signal;
    uint32_t generation;  // generation of the signal when the group was created
  };
  using Group = std::vector<Member>;

  HandleTable<Group> groups_{HandleKind::kSignalGroup};
};

}  // namespace rigel
