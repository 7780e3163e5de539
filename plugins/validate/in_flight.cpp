#include "plugins/validate/in_flight.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "api/support/mutex.hpp"

namespace validate {
namespace {

void add_to(std::unordered_map<uint64_t, uint32_t>& counts, uint64_t key, int32_t change) {
  if (key == 0) return;
  uint32_t& count = counts[key];
  count += static_cast<uint32_t>(change);
  if (count == 0) counts.erase(key);
}

}  // namespace

// The program may write there at the same time, which is what is looked for.
__attribute__((no_sanitize("thread"))) uint64_t hash_of_bytes(uint64_t address, uint64_t bytes) {
  uint64_t hash = bytes;
  const char* at = reinterpret_cast<const char*>(address);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  for (uint64_t i = 0; i < bytes; ++i) rest |= uint64_t{static_cast<unsigned char>(at[i])} << 8 * i;
  return (hash ^ rest) * 0x9e3779b97f4a7c15ull;
}

uint64_t InFlightPacket::completion_signal() const {
  return packet.as<hsa_kernel_dispatch_packet_t>().completion_signal.handle;  // the last field of all packets
}

std::vector<uint64_t> InFlightPacket::dependencies() const {
  std::vector<uint64_t> out;
  if (packet.type() != HSA_PACKET_TYPE_BARRIER_AND && packet.type() != HSA_PACKET_TYPE_BARRIER_OR) return out;
  for (const hsa_signal_t signal : packet.as<hsa_barrier_and_packet_t>().dep_signal) {
    if (signal.handle != 0) out.push_back(signal.handle);
  }
  return out;
}

std::string InFlightPacket::name() const {
  std::string what = "packet";
  switch (packet.type()) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      what = kernel == nullptr ? "dispatch" : fmt::format("dispatch of {}", kernel->name);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
      what = "barrier-AND";
      break;
    case HSA_PACKET_TYPE_BARRIER_OR:
      what = "barrier-OR";
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      what = "barrier-value";
      break;
    default:
      break;
  }
  return fmt::format("{} (packet {} of queue {})", what, index, queue);
}

void InFlight::count(const InFlightPacket& packet, int32_t change) {
  add_to(completions_, packet.completion_signal(), change);
  for (const uint64_t signal : packet.dependencies()) add_to(dependencies_, signal, change);
  for (const Block& block : packet.blocks) add_to(blocks_, block.base, change);
}

std::vector<const InFlightPacket*> InFlight::completers(uint64_t signal) const {
  std::vector<const InFlightPacket*> out;
  for (const auto& [id, queue] : queues_) {
    for (const InFlightPacket& packet : queue) {
      if (packet.completion_signal() == signal) out.push_back(&packet);
    }
  }
  return out;
}

bool InFlight::waits_for(const InFlightPacket& from, const InFlightPacket& target,
                         std::vector<const InFlightPacket*>& visited,
                         std::vector<const InFlightPacket*>& way) const {
  if (std::find(visited.begin(), visited.end(), &from) != visited.end()) return false;
  visited.push_back(&from);
  way.push_back(&from);
  const auto reaches = [&](const InFlightPacket* other) RIGEL_REQUIRES(mutex_) {
    return other == &target || waits_for(*other, target, visited, way);
  };
  const auto is_held_by = [&](uint64_t signal) RIGEL_REQUIRES(mutex_) {
    if (value_of_(signal) == 0) return false;
    const auto all = completers(signal);
    return std::any_of(all.begin(), all.end(), reaches);
  };
  const auto signals = from.dependencies();
  const bool by_signals = from.packet.type() == HSA_PACKET_TYPE_BARRIER_OR
                              ? !signals.empty() && std::all_of(signals.begin(), signals.end(), is_held_by)
                              : std::any_of(signals.begin(), signals.end(), is_held_by);
  if (by_signals) return true;
  for (const InFlightPacket& earlier : queues_.at(from.queue)) {
    if (&earlier == &from) break;
    if ((earlier.is_barrier() || from.has_barrier_bit()) && reaches(&earlier)) return true;
  }
  way.pop_back();
  return false;
}

InFlight::Findings InFlight::add(InFlightPacket packet) {
  Findings out;
  const rigel::MutexLock lock(mutex_);
  const uint64_t completion = packet.completion_signal();
  if (const auto same = completions_.find(completion); same != completions_.end())
    out.same_signal = same->second;
  count(packet, 1);
  Queue& queue = queues_[packet.queue];
  const InFlightPacket& added = queue.emplace_back(std::move(packet));

  const auto waits = added.dependencies();
  if (dependencies_.contains(completion) ||
      std::any_of(waits.begin(), waits.end(),
                  [&](uint64_t signal) RIGEL_REQUIRES(mutex_) { return completions_.contains(signal); })) {
    std::vector<const InFlightPacket*> visited, way;
    if (waits_for(added, added, visited, way)) {
      for (const InFlightPacket* const part : way) out.circle.push_back(part->name());
    }
  }
  for (const Block& block : added.blocks) {
    if (block.pool == nullptr || !block.pool->coarse || blocks_[block.base] < 2) continue;
    for (const auto& [id, others] : queues_) {
      for (const InFlightPacket& other : others) {
        const auto is_it = [&](const Block& b) { return b.base == block.base; };
        if (other.agent == added.agent || std::none_of(other.blocks.begin(), other.blocks.end(), is_it))
          continue;
        std::vector<const InFlightPacket*> visited, way;
        if (waits_for(added, other, visited, way)) continue;
        out.coarse.push_back(
            fmt::format("{:#x} of {} bytes, while it is used by {}", block.base, block.size, other.name()));
        break;
      }
    }
  }
  return out;
}

std::vector<std::string> InFlight::done(uint64_t queue_id, uint64_t index) {
  std::vector<std::string> changed;
  const rigel::MutexLock lock(mutex_);
  const auto found = queues_.find(queue_id);
  if (found == queues_.end()) return changed;
  Queue& queue = found->second;
  const auto over = std::find_if(queue.begin(), queue.end(), [&](const auto& p) { return p.index == index; });
  if (over == queue.end()) return changed;
  // A packet with the barrier bit has begun when all before it were over.
  const auto first = over->has_barrier_bit() ? queue.begin() : over;
  for (auto packet = first; packet <= over; ++packet) {
    count(*packet, -1);
    // Only of what has just ended: of those before it the program may have known for long.
    if (packet == over && packet->kernarg != 0 &&
        hash_of_bytes(packet->kernarg, packet->kernel->kernarg_size) != packet->kernarg_hash)
      changed.push_back(packet->name());
  }
  queue.erase(first, std::next(over));
  if (queue.empty()) queues_.erase(found);
  return changed;
}

void InFlight::drop_queue(uint64_t queue_id) {
  const rigel::MutexLock lock(mutex_);
  const auto found = queues_.find(queue_id);
  if (found == queues_.end()) return;
  for (const InFlightPacket& packet : found->second) count(packet, -1);
  queues_.erase(found);
}

void InFlight::add_copy(uint64_t call, Copy copy) {
  const rigel::MutexLock lock(mutex_);
  copies_[call] = std::move(copy);
}

void InFlight::copy_done(uint64_t call) {
  const rigel::MutexLock lock(mutex_);
  copies_.erase(call);
}

std::string InFlight::user_of_signal(uint64_t signal) const {
  const rigel::MutexLock lock(mutex_);
  if (completions_.contains(signal) || dependencies_.contains(signal)) {
    for (const auto& [id, queue] : queues_) {
      for (const InFlightPacket& packet : queue) {
        const auto waits = packet.dependencies();
        if (packet.completion_signal() == signal ||
            std::find(waits.begin(), waits.end(), signal) != waits.end())
          return packet.name();
      }
    }
  }
  for (const auto& [call, copy] : copies_) {
    if (std::find(copy.signals.begin(), copy.signals.end(), signal) != copy.signals.end())
      return fmt::format("a copy of {}", hsatool::view(copy.function->name));
  }
  return {};
}

std::string InFlight::user_of_block(uint64_t base, uint64_t size) const {
  const rigel::MutexLock lock(mutex_);
  if (blocks_.contains(base)) {
    for (const auto& [id, queue] : queues_) {
      for (const InFlightPacket& packet : queue) {
        for (const Block& block : packet.blocks) {
          if (block.base != base) continue;
          const uint64_t kernarg =
              reinterpret_cast<uint64_t>(packet.packet.as<hsa_kernel_dispatch_packet_t>().kernarg_address);
          return fmt::format(
              "{}, {}", packet.name(),
              block.contains(kernarg) ? "whose arguments are in it" : "which is given its address");
        }
      }
    }
  }
  for (const auto& [call, copy] : copies_) {
    if (copy.destination - base < size || copy.source - base < size)
      return fmt::format("a copy of {}", hsatool::view(copy.function->name));
  }
  return {};
}

void InFlight::forget_block(uint64_t base) {
  const rigel::MutexLock lock(mutex_);
  if (!blocks_.contains(base)) return;
  for (auto& [id, queue] : queues_) {
    for (InFlightPacket& packet : queue) {
      if (!packet.blocks.empty() && packet.blocks.front().base == base) packet.kernarg = 0;
    }
  }
}

bool InFlight::is_blocked(const InFlightPacket& packet) const {
  const auto signals = packet.dependencies();
  const auto is_held = [&](uint64_t signal) { return value_of_(signal) != 0; };
  if (packet.packet.type() == HSA_PACKET_TYPE_BARRIER_OR)
    return !signals.empty() && std::all_of(signals.begin(), signals.end(), is_held);
  return std::any_of(signals.begin(), signals.end(), is_held);
}

bool InFlight::may_progress() const {
  const rigel::MutexLock lock(mutex_);
  if (!copies_.empty()) return true;
  for (const auto& [id, queue] : queues_) {
    // What is behind a barrier packet that is held does not begin.
    if (!queue.empty() && !is_blocked(queue.front())) return true;
  }
  return false;
}

}  // namespace validate
