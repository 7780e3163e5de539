// Packets and copies that were submitted to devices and have not completed, with the signals and memory they
// use.
//
// *Threads:* any function, any thread; one lock protects everything.
// *Invariant:* the runtime reports a completion to the tool before the program can observe it. Everything
// stored here is therefore still incomplete for the program. Exception: packets without a completion signal.
// The program may conclude that they completed when a later packet with the barrier bit completes (see done).
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/packet_graph.hpp"

namespace validate {

/// The copies of one call.
struct Copies {
  const hsatool_function_t* function = nullptr;
  std::vector<std::pair<uint64_t, uint64_t>> address_pairs;  ///< destination and source of each copy
  std::vector<uint64_t> signals;
  size_t completed = 0;  ///< number of completed copies; the runtime does not report which ones
};

uint64_t hash_of_bytes(uint64_t address, uint64_t bytes);

class InFlight {
 public:
  explicit InFlight(const ValueOfSignal& value_of) : value_of_(value_of), graph_(value_of) {}

  struct Findings {
    // Number of earlier packets with the same completion signal, if the signal's value is too small to count
    // them all.
    uint32_t same_signal = 0;
    int64_t value_of_signal = 0;
    std::vector<std::string> cycle;   ///< packets of a dependency cycle
    std::vector<std::string> coarse;  ///< coarse-grained blocks in use by another agent, with their user
  };
  /// Adds a submitted packet and checks it against the other packets in flight.
  Findings add(InFlightPacket packet);

  /// Removes a completed packet. Returns its name if its arguments changed while it was in flight.
  std::optional<std::string> done(uint64_t queue, uint64_t index);
  /// Removes all packets of a queue that has stopped.
  void drop_queue(uint64_t queue);

  void add_copies(uint64_t call, Copies copies);
  void copy_done(uint64_t call);
  /// Removes the copies of a failed call.
  void drop_copies(uint64_t call);

  /// Describe a user of a signal or of a block of memory; empty if there is none.
  std::string user_of_signal(uint64_t signal) const;
  std::string user_of_block(uint64_t base, uint64_t size) const;
  /// Stops reading packet arguments in this block, which is about to be freed.
  void forget_block(uint64_t base);
  /// Returns whether a copy or a packet can progress without the program.
  bool may_progress() const;

 private:
  using Node = PacketGraph::Node;
  // A block of a packet, and a packet of another agent that uses the same block.
  struct Shared {
    const Block* block;
    const Node* user;
  };
  void remove(const Node& packet) RIGEL_REQUIRES(mutex_);
  std::vector<Shared> shared_by(const Node& packet) const RIGEL_REQUIRES(mutex_);
  /// The shared blocks whose users are not ordered relative to the packet.
  std::vector<Shared> shared_at_once(Node& packet) RIGEL_REQUIRES(mutex_);

  void check_count(const Node& packet, Findings& findings) const RIGEL_REQUIRES(mutex_);

  const ValueOfSignal value_of_;
  mutable rigel::Mutex mutex_;
  PacketGraph graph_ RIGEL_GUARDED_BY(mutex_);
  // Packets by the base of a block they use, then by their agent.
  std::map<uint64_t, std::map<uint64_t, PacketGraph::Nodes>> blocks_ RIGEL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Copies> copies_ RIGEL_GUARDED_BY(mutex_);  // by call
};

}  // namespace validate
