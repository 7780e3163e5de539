#include "plugins/vgpu/exec/profile/memory_counter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/vgpu/exec/check/lane_sets.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint64_t kLineBytes = 64;
constexpr uint32_t kBanks = 32, kBytesOfCycle = kBanks * 4;

uint64_t size_of(std::vector<uint64_t>& lines) {
  std::sort(lines.begin(), lines.end());
  const auto count = static_cast<uint64_t>(std::unique(lines.begin(), lines.end()) - lines.begin());
  lines.clear();
  return count;
}

}  // namespace

LdsCycles lds_cycles(const LaneAccesses& accesses) {
  const uint32_t dwords = std::max(accesses.bytes / 4, 1u);
  // Of 12 bytes, as many lanes as of 16.
  const uint32_t lanes_of_cycle = kBytesOfCycle / (std::bit_ceil(dwords) * 4);
  LdsCycles sum;
  for (uint64_t remaining = accesses.lanes; remaining != 0;) {
    std::vector<uint64_t> banks[kBanks];
    for (uint32_t served = 0; remaining != 0 && served < lanes_of_cycle; ++served) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(remaining));
      remaining &= remaining - 1;
      const uint64_t first = accesses.address(lane) / 4;
      const uint64_t last = (accesses.address(lane) + accesses.bytes - 1) / 4;
      for (uint64_t dword = first; dword <= last; ++dword) {
        std::vector<uint64_t>& bank = banks[dword % kBanks];
        const bool shares = accesses.kind != AccessKind::kAtomic;
        if (!shares || std::find(bank.begin(), bank.end(), dword) == bank.end()) bank.push_back(dword);
      }
    }
    size_t cycles = 1;
    for (const auto& bank : banks) cycles = std::max(cycles, bank.size());
    sum.all += static_cast<uint32_t>(cycles);
    sum.conflicts += static_cast<uint32_t>(cycles - 1);
  }
  return sum;
}

void MemoryCounter::begin(uint64_t pc) {
  end_instruction();
  pc_ = pc;
}

void MemoryCounter::access_memory(const LaneAccesses& accesses) {
  const auto add_lines = [&](std::vector<uint64_t>& lines) {
    for_each_lane(accesses.lanes, [&](uint32_t lane) {
      const uint64_t begin = accesses.address(lane);
      const uint64_t last = (begin + accesses.bytes - 1) / kLineBytes;
      for (uint64_t line = begin / kLineBytes; line <= last; ++line) {
        if (lines.empty() || lines.back() != line) lines.push_back(line);
      }
    });
  };
  if (accesses.kind != AccessKind::kWrite) add_lines(read_lines_);
  if (accesses.kind != AccessKind::kRead) add_lines(written_lines_);
}

void MemoryCounter::access_lds(const LaneAccesses& accesses) {
  const LdsCycles cycles = lds_cycles(accesses);
  profile::MemoryCount& count = counts_[pc_];
  count.lds_cycles += cycles.all;
  count.lds_conflicts += cycles.conflicts;
}

void MemoryCounter::access_private(const LaneAccesses& accesses) {
  counts_[pc_].scratch_bytes +=
      uint64_t{accesses.bytes} * static_cast<uint32_t>(std::popcount(accesses.lanes));
}

void MemoryCounter::end_instruction() {
  if (!read_lines_.empty()) counts_[pc_].lines_read += size_of(read_lines_);
  if (!written_lines_.empty()) counts_[pc_].lines_written += size_of(written_lines_);
}

MemoryCounter::Counts MemoryCounter::take() {
  end_instruction();
  return std::exchange(counts_, {});
}

}  // namespace rigel::vgpu::exec
