// What devices have been given and have not finished: packets and copies, with the signals and the memory that
// they use.
//
// Any function, any thread: one lock for all. The runtime tells of an end before the program can know of it, so
// what is here has not ended as far as the program may know, but for packets without a completion signal: they
// have ended when a later packet with the barrier bit has (see done).
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/kernels.hpp"

namespace validate {

struct InFlightPacket {
  hsatool::Packet packet{};
  uint64_t queue = 0;  ///< its id
  uint64_t index = 0;
  uint64_t agent = 0;
  std::shared_ptr<const Kernel> kernel;  ///< null: no dispatch, or of a kernel that is not known
  std::vector<Block> blocks;  ///< of memory whose addresses it is given, that of its arguments first
  uint64_t kernarg = 0;       ///< 0: the tool does not look at it
  uint64_t kernarg_hash = 0;

  bool is_barrier() const { return packet.type() != HSA_PACKET_TYPE_KERNEL_DISPATCH; }
  bool has_barrier_bit() const { return packet.header >> HSA_PACKET_HEADER_BARRIER & 1; }
  uint64_t completion_signal() const;
  /// Signals that it waits for: all, or any of them if it is a barrier-OR packet.
  std::vector<uint64_t> dependencies() const;
  /// "dispatch of add.kd (packet 12 of queue 3)".
  std::string name() const;
};

struct Copy {
  const hsatool_function_t* function = nullptr;
  uint64_t destination = 0;
  uint64_t source = 0;
  std::vector<uint64_t> signals;
};

uint64_t hash_of_bytes(uint64_t address, uint64_t bytes);

class InFlight {
 public:
  /// What a signal's value is; 0 if it does not live.
  explicit InFlight(std::function<int64_t(uint64_t signal)> value_of) : value_of_(std::move(value_of)) {}

  struct Findings {
    uint32_t same_signal = 0;  ///< packets that will complete the new one's completion signal, before it
    std::vector<std::string> circle;  ///< the packets of a circle
    std::vector<std::string> coarse;  ///< blocks that another agent uses at the same time, and what uses them
  };
  /// A packet on its way to a device, and what is wrong with it in the company of the others.
  Findings add(InFlightPacket packet);

  /// A packet is over. Returns those whose arguments have changed meanwhile.
  std::vector<std::string> done(uint64_t queue, uint64_t index);
  /// A queue takes no packets any more.
  void drop_queue(uint64_t queue);

  void add_copy(uint64_t call, Copy copy);
  void copy_done(uint64_t call);

  /// What uses a signal or a block of memory; "": nothing.
  std::string user_of_signal(uint64_t signal) const;
  std::string user_of_block(uint64_t base, uint64_t size) const;
  /// The tool must not read this memory any more.
  void forget_block(uint64_t base);
  /// Whether anything here can go on by itself.
  bool may_progress() const;

 private:
  using Queue = std::deque<InFlightPacket>;
  void count(const InFlightPacket& packet, int32_t change) RIGEL_REQUIRES(mutex_);
  bool is_blocked(const InFlightPacket& packet) const;
  /// Whether `from` can only begin or end when `target` has. `way` is then how.
  bool waits_for(const InFlightPacket& from, const InFlightPacket& target,
                 std::vector<const InFlightPacket*>& visited, std::vector<const InFlightPacket*>& way) const
      RIGEL_REQUIRES(mutex_);
  std::vector<const InFlightPacket*> completers(uint64_t signal) const RIGEL_REQUIRES(mutex_);

  const std::function<int64_t(uint64_t)> value_of_;
  mutable rigel::Mutex mutex_;
  std::map<uint64_t, Queue> queues_ RIGEL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, uint32_t> completions_
      RIGEL_GUARDED_BY(mutex_);  // packets, by completion signal
  std::unordered_map<uint64_t, uint32_t> dependencies_
      RIGEL_GUARDED_BY(mutex_);  // packets, by signals that they wait for
  std::unordered_map<uint64_t, uint32_t> blocks_ RIGEL_GUARDED_BY(mutex_);  // packets, by base of a block
  std::unordered_map<uint64_t, Copy> copies_ RIGEL_GUARDED_BY(mutex_);      // by call
};

}  // namespace validate
