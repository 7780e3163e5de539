// What devices have been given and have not finished: packets and copies, with the signals and the memory that
// they use.
//
// Any function, any thread: one lock for all. The runtime tells of an end before the program can know of it, so
// what is here has not ended as far as the program may know, but for packets without a completion signal: they
// have ended when a later packet with the barrier bit has (see done).
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
  std::vector<std::pair<uint64_t, uint64_t>> ways;  ///< of each: the addresses of destination and source
  std::vector<uint64_t> signals;
  size_t over = 0;  ///< how many have ended: which, nobody says
};

uint64_t hash_of_bytes(uint64_t address, uint64_t bytes);

class InFlight {
 public:
  explicit InFlight(const ValueOfSignal& value_of) : value_of_(value_of), graph_(value_of) {}

  struct Findings {
    // Packets that will complete the new one's completion signal, before it, if the signal does not count them all.
    uint32_t same_signal = 0;
    int64_t value_of_signal = 0;
    std::vector<std::string> circle;  ///< the packets of a circle
    std::vector<std::string> coarse;  ///< blocks that another agent uses at the same time, and what uses them
  };
  /// A packet on its way to a device, and what is wrong with it in the company of the others.
  Findings add(InFlightPacket packet);

  /// A packet is over. Returns its name if its arguments have changed meanwhile.
  std::optional<std::string> done(uint64_t queue, uint64_t index);
  /// A queue takes no packets any more.
  void drop_queue(uint64_t queue);

  void add_copies(uint64_t call, Copies copies);
  void copy_done(uint64_t call);
  /// The call has failed.
  void drop_copies(uint64_t call);

  /// What uses a signal or a block of memory; "": nothing.
  std::string user_of_signal(uint64_t signal) const;
  std::string user_of_block(uint64_t base, uint64_t size) const;
  /// The tool must not read this memory any more.
  void forget_block(uint64_t base);
  /// Whether anything here can go on by itself.
  bool may_progress() const;

 private:
  using Node = PacketGraph::Node;
  // A block of a packet, and a packet of another agent that uses it.
  struct Shared {
    const Block* block;
    const Node* user;
  };
  void remove(const Node& packet) RIGEL_REQUIRES(mutex_);
  std::vector<Shared> shared_by(const Node& packet) const RIGEL_REQUIRES(mutex_);
  /// Those that neither wait for the packet nor are waited for.
  std::vector<Shared> shared_at_once(Node& packet) RIGEL_REQUIRES(mutex_);

  void check_count(const Node& packet, Findings& findings) const RIGEL_REQUIRES(mutex_);

  const ValueOfSignal value_of_;
  mutable rigel::Mutex mutex_;
  PacketGraph graph_ RIGEL_GUARDED_BY(mutex_);
  // Packets, by the base of a block that they use, and their agent.
  std::map<uint64_t, std::map<uint64_t, PacketGraph::Nodes>> blocks_ RIGEL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Copies> copies_ RIGEL_GUARDED_BY(mutex_);  // by call
};

}  // namespace validate
