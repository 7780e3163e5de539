#include "plugins/validate/in_flight.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "api/support/mutex.hpp"

namespace validate {
// The program may write these bytes concurrently: rule 210 detects exactly that.
__attribute__((no_sanitize("thread"))) uint64_t hash_of_bytes(uint64_t address, uint64_t bytes) {
  uint64_t hash = bytes;
  const char* bytes_at = reinterpret_cast<const char*>(address);
  for (; bytes >= 8; bytes -= 8, bytes_at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes_at, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  uint64_t tail = 0;
  for (uint64_t i = 0; i < bytes; ++i) tail |= uint64_t{static_cast<unsigned char>(bytes_at[i])} << 8 * i;
  return (hash ^ tail) * 0x9e3779b97f4a7c15ull;
}

std::vector<InFlight::Shared> InFlight::shared_by(const Node& packet) const {
  std::vector<Shared> out;
  for (const Block& block : packet.blocks) {
    if (block.pool == nullptr || !block.pool->coarse) continue;
    for (const auto& [agent, users] : blocks_.at(block.base)) {
      if (agent == packet.agent) continue;
      for (const auto& [sequence, user] : users) out.push_back({&block, user});
    }
  }
  return out;
}

std::vector<InFlight::Shared> InFlight::shared_at_once(Node& packet) {
  std::vector<Shared> out = shared_by(packet);
  const auto is_found = [&](const Shared& shared)
                            RIGEL_REQUIRES(mutex_) { return graph_.is_found(*shared.user); };
  if (out.empty()) return out;
  graph_.find_prerequisites(packet);
  std::erase_if(out, is_found);
  graph_.find_dependents(packet);
  std::erase_if(out, is_found);
  return out;
}

// A packet is removed before its signal is decremented. Under the lock the value therefore counts at least
// the packets that are stored here.
void InFlight::check_count(const Node& packet, Findings& findings) const {
  const uint64_t signal = packet.completion_signal();
  const uint32_t completers = signal == 0 ? 0 : graph_.completers_of(signal);
  if (completers < 2) return;
  const int64_t value = value_of_(signal).value_or(0);
  if (value <= 0 || value >= completers) return;
  findings.same_signal = completers - 1;
  findings.value_of_signal = value;
}

InFlight::Findings InFlight::add(InFlightPacket packet) {
  Findings out;
  const rigel::MutexLock lock(mutex_);
  Node& added = graph_.add(std::move(packet));
  for (const Block& block : added.blocks) blocks_[block.base][added.agent].emplace(added.sequence, &added);

  check_count(added, out);
  graph_.find_dependents(added);
  if (graph_.is_found(added)) {
    for (const Node* const member : graph_.cycle_of(added)) out.cycle.push_back(member->name());
  }
  const Block* reported = nullptr;
  for (const Shared& shared : shared_at_once(added)) {
    const Block& block = *shared.block;
    if (std::exchange(reported, &block) == &block) continue;
    out.coarse.push_back(
        fmt::format("{:#x} of {} bytes is also used by {}", block.base, block.size, shared.user->name()));
  }
  return out;
}

void InFlight::remove(const Node& packet) {
  for (const Block& block : packet.blocks) {
    const auto agents = blocks_.find(block.base);
    const auto users = agents->second.find(packet.agent);
    users->second.erase(packet.sequence);
    if (users->second.empty()) agents->second.erase(users);
    if (agents->second.empty()) blocks_.erase(agents);
  }
  graph_.remove(packet);
}

std::optional<std::string> InFlight::done(uint64_t queue, uint64_t index) {
  const rigel::MutexLock lock(mutex_);
  Node* const completed = graph_.find(queue, index);
  if (completed == nullptr) return std::nullopt;
  std::optional<std::string> changed;
  if (completed->kernarg != 0 &&
      hash_of_bytes(completed->kernarg, completed->kernel->kernarg_size) != completed->kernarg_hash)
    changed = completed->name();
  // A packet with the barrier bit starts after all earlier packets of its queue completed. The program may
  // have reused their arguments already, so they are removed without the check.
  while (completed->has_barrier_bit() && graph_.oldest(queue) != completed) remove(*graph_.oldest(queue));
  remove(*completed);
  return changed;
}

void InFlight::drop_queue(uint64_t queue) {
  const rigel::MutexLock lock(mutex_);
  while (const Node* const packet = graph_.oldest(queue)) remove(*packet);
}

void InFlight::add_copies(uint64_t call, Copies copies) {
  const rigel::MutexLock lock(mutex_);
  copies_[call] = std::move(copies);
}

void InFlight::copy_done(uint64_t call) {
  const rigel::MutexLock lock(mutex_);
  const auto copies = copies_.find(call);
  if (copies != copies_.end() && ++copies->second.completed == copies->second.address_pairs.size())
    copies_.erase(copies);
}

void InFlight::drop_copies(uint64_t call) {
  const rigel::MutexLock lock(mutex_);
  copies_.erase(call);
}

std::string InFlight::user_of_signal(uint64_t signal) const {
  const rigel::MutexLock lock(mutex_);
  if (const Node* const user = graph_.user_of(signal)) return user->name();
  for (const auto& [call, copies] : copies_) {
    if (std::find(copies.signals.begin(), copies.signals.end(), signal) != copies.signals.end())
      return fmt::format("a copy of {}", hsatool::view(copies.function->name));
  }
  return {};
}

std::string InFlight::user_of_block(uint64_t base, uint64_t size) const {
  const rigel::MutexLock lock(mutex_);
  if (const auto agents = blocks_.find(base); agents != blocks_.end()) {
    const Node& packet = *agents->second.begin()->second.begin()->second;
    const uint64_t kernarg =
        reinterpret_cast<uint64_t>(packet.packet.as<hsa_kernel_dispatch_packet_t>().kernarg_address);
    return fmt::format(
        "{}, {}", packet.name(),
        kernarg - base < size ? "which has its arguments there" : "which has its address as an argument");
  }
  const auto is_in_block = [&](const auto& pair) {
    return pair.first - base < size || pair.second - base < size;
  };
  for (const auto& [call, copies] : copies_) {
    if (std::any_of(copies.address_pairs.begin(), copies.address_pairs.end(), is_in_block))
      return fmt::format("a copy of {}", hsatool::view(copies.function->name));
  }
  return {};
}

void InFlight::forget_block(uint64_t base) {
  const rigel::MutexLock lock(mutex_);
  const auto agents = blocks_.find(base);
  if (agents == blocks_.end()) return;
  for (const auto& [agent, users] : agents->second) {
    for (const auto& [sequence, packet] : users) {
      if (packet->blocks.front().base == base) packet->kernarg = 0;
    }
  }
}

bool InFlight::may_progress() const {
  const rigel::MutexLock lock(mutex_);
  return !copies_.empty() || graph_.may_progress();
}

}  // namespace validate
