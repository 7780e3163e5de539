#include "plugins/vgpu/cp/packet_fidelity.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/core.h>

#include "plugins/vgpu/fidelity/run_fidelity.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint8_t k8 = 1, k9 = 2, k11 = 8, k12 = 16, kAll = 31, kTo11 = 15, kFrom9 = 30, kFrom10 = 28,
                  kFrom11 = 24;
constexpr auto kExact = Fidelity::kExact;
constexpr auto kEquivalent = Fidelity::kEquivalent;
constexpr auto kApprox = Fidelity::kApproximate;
constexpr auto kAbsent = Fidelity::kAbsent;
constexpr auto kAql = PacketSet::kAql;
constexpr auto kPm4 = PacketSet::kPm4;
constexpr auto kSdma = PacketSet::kSdma;

constexpr FidelityRow kRows[] = {
    // AQL ------------------------------------------------------------------------------------------------
    {kAql, 0x000, k8, "PM4 in a slot", "", kExact, ""},
    {kAql, 0x001, kAll, "INVALID", "", kExact, "holds the queue until a producer writes the packet"},
    {kAql, 0x002, kAll, "KERNEL_DISPATCH", "", kExact, ""},
    {kAql, 0x002, kAll, "KERNEL_DISPATCH", "header.acquire", kEquivalent,
     "memory is coherent: only the order is kept"},
    {kAql, 0x002, kAll, "KERNEL_DISPATCH", "header.release", kEquivalent,
     "memory is coherent: only the order is kept"},
    {kAql, 0x002, kAll, "KERNEL_DISPATCH", "registers check", kApprox,
     "counts VGPRs of one work-group per CU"},
    {kAql, 0x002, kAll, "KERNEL_DISPATCH", "slot", kEquivalent,
     "released when the kernel and all preceding packets have completed"},
    {kAql, 0x003, kAll, "BARRIER_AND", "", kExact, ""},
    {kAql, 0x004, kAll, "AGENT_DISPATCH", "", kExact, "a queue error, as on hardware"},
    {kAql, 0x005, kAll, "BARRIER_OR", "", kExact, ""},
    {kAql, 0x101, kFrom9, "AMD PM4_IB", "", kExact, ""},
    {kAql, 0x101, kFrom9, "AMD PM4_IB", "dw_cnt_remain", kEquivalent, "ignored"},
    {kAql, 0x102, kFrom9, "AMD BARRIER_VALUE", "", kExact, ""},
    // PM4 ------------------------------------------------------------------------------------------------
    {kPm4, 0x10, kAll, "NOP", "", kExact, ""},
    {kPm4, 0x15, kAll, "DISPATCH_DIRECT", "", kExact, ""},
    {kPm4, 0x15, kAll, "DISPATCH_DIRECT", "COMPUTE_START_*", kAbsent, ""},
    {kPm4, 0x15, kAll, "DISPATCH_DIRECT", "initiator order and cache bits", kEquivalent, "ignored"},
    {kPm4, 0x16, kAll, "DISPATCH_INDIRECT", "", kExact, ""},
    {kPm4, 0x1d, kTo11, "ATOMIC_GDS", "", kAbsent, ""},
    {kPm4, 0x1e, kAll, "ATOMIC_MEM", "", kExact, ""},
    {kPm4, 0x1e, kAll, "ATOMIC_MEM", "float operations", kAbsent, ""},
    {kPm4, 0x22, kAll, "COND_EXEC", "", kExact, ""},
    {kPm4, 0x23, kFrom9, "PRED_EXEC", "", kExact, "one processor acts for all dies"},
    {kPm4, 0x37, kAll, "WRITE_DATA", "", kExact, ""},
    {kPm4, 0x37, kAll, "WRITE_DATA", "register destinations", kApprox,
     "compute and user-configuration registers"},
    {kPm4, 0x37, kAll, "WRITE_DATA", "GDS destination", kAbsent, ""},
    {kPm4, 0x3c, kAll, "WAIT_REG_MEM", "", kExact, ""},
    {kPm4, 0x3c, kAll, "WAIT_REG_MEM", "register space", kEquivalent,
     "stops if the register can never match"},
    {kPm4, 0x3c, kAll, "WAIT_REG_MEM", "write-wait-write", kEquivalent,
     "HDP flush registers only; the flush completes immediately"},
    {kPm4, 0x3c, kAll, "WAIT_REG_MEM", "poll interval", kEquivalent, "the worker's poll interval"},
    {kPm4, 0x3f, kAll, "INDIRECT_BUFFER", "", kExact, "two levels, and chains"},
    {kPm4, 0x40, kAll, "COPY_DATA", "", kExact, ""},
    {kPm4, 0x40, kAll, "COPY_DATA", "performance counters", kApprox,
     "those of SQ that need no clock and no cache; others read 0; shader engines share a dispatch evenly"},
    {kPm4, 0x40, kAll, "COPY_DATA", "GDS", kAbsent, ""},
    {kPm4, 0x42, kAll, "PFP_SYNC_ME", "", kExact, "compute queues have one fetcher"},
    {kPm4, 0x46, kAll, "EVENT_WRITE", "", kExact, ""},
    {kPm4, 0x46, kAll, "EVENT_WRITE", "performance and trace events", kApprox,
     "accepted; CP_PERFMON_CNTL starts and stops counters"},
    {kPm4, 0x47, k8, "EVENT_WRITE_EOP", "", kEquivalent, "the stream waits until the pipe has drained"},
    {kPm4, 0x49, kAll, "RELEASE_MEM", "", kEquivalent, "the stream waits until the pipe has drained"},
    {kPm4, 0x49, kAll, "RELEASE_MEM", "conditional interrupts", kAbsent, ""},
    {kPm4, 0x49, kAll, "RELEASE_MEM", "GDS data", kAbsent, ""},
    {kPm4, 0x50, kAll, "DMA_DATA", "", kExact, ""},
    {kPm4, 0x50, kAll, "DMA_DATA", "registers, GDS, fixed addresses", kAbsent, ""},
    {kPm4, 0x58, kAll, "ACQUIRE_MEM", "", kEquivalent, "memory is coherent: only the order is kept"},
    {kPm4, 0x76, kAll, "SET_SH_REG", "", kExact,
     "compute registers; writes to others are ignored with a warning"},
    {kPm4, 0x79, kAll, "SET_UCONFIG_REG", "", kApprox, "performance counters; storage only otherwise"},
    {kPm4, 0x93, kFrom9, "WAIT_REG_MEM64", "", kExact, "memory only"},
    {kPm4, 0x9b, kFrom10, "SET_SH_REG_INDEX", "", kExact, "the index is ignored"},
    {kPm4, 0xba, kFrom11, "SET_SH_REG_PAIRS", "", kAbsent, ""},
    {kPm4, 0xbb, kFrom11, "SET_SH_REG_PAIRS_PACKED", "", kAbsent, ""},
    {kPm4, 0xbd, kFrom11, "SET_SH_REG_PAIRS_PACKED_N", "", kAbsent, ""},
    // SDMA -----------------------------------------------------------------------------------------------
    {kSdma, 0x0000, kAll, "NOP", "", kExact, ""},
    {kSdma, 0x0001, kAll, "COPY_LINEAR", "", kExact, ""},
    {kSdma, 0x0001, kAll, "COPY_LINEAR", "endian swap", kAbsent, ""},
    {kSdma, 0x0001, kAll, "COPY_LINEAR", "cache policy, snoop", kEquivalent, "memory is coherent"},
    {kSdma, 0x0001, k12, "COPY_LINEAR", "compression", kAbsent, ""},
    {kSdma, 0x0101, kAll, "COPY_TILED", "", kAbsent, ""},
    {kSdma, 0x0301, kAll, "COPY_SOA", "", kAbsent, ""},
    {kSdma, 0x0401, kAll, "COPY_LINEAR_SUB_WINDOW", "", kExact, ""},
    {kSdma, 0x2401, k11, "COPY_LINEAR_SUB_WINDOW_LARGE", "", kAbsent, ""},
    {kSdma, 0x0501, kAll, "COPY_TILED_SUB_WINDOW", "", kAbsent, ""},
    {kSdma, 0x0601, kAll, "COPY_T2T_SUB_WINDOW", "", kAbsent, ""},
    {kSdma, 0x0701, kFrom9, "COPY_DIRTY_PAGE", "", kAbsent, ""},
    {kSdma, 0x0801, kFrom9, "COPY_LINEAR_PHYSICAL", "", kAbsent, "privileged"},
    {kSdma, 0x0002, kAll, "WRITE_LINEAR", "", kExact, ""},
    {kSdma, 0x0102, kAll, "WRITE_TILED", "", kAbsent, ""},
    {kSdma, 0x0004, kAll, "INDIRECT", "", kExact, "one level"},
    {kSdma, 0x0005, kAll, "FENCE", "", kExact, ""},
    {kSdma, 0x0006, kAll, "TRAP", "", kExact, ""},
    {kSdma, 0x0007, kAll, "SEMAPHORE", "", kAbsent, ""},
    {kSdma, 0x0008, kAll, "POLL_REGMEM", "", kExact, ""},
    {kSdma, 0x0008, kAll, "POLL_REGMEM", "interval, retry count", kEquivalent, "polls until it holds"},
    {kSdma, 0x0008, kAll, "POLL_REGMEM", "registers", kEquivalent,
     "HDP flush and function 0 pass; others stop"},
    {kSdma, 0x0108, kFrom9, "POLL_REG_WRITE_MEM", "", kAbsent, ""},
    {kSdma, 0x0208, kFrom9, "POLL_DBIT_WRITE_MEM", "", kAbsent, ""},
    {kSdma, 0x0308, kFrom9, "POLL_MEM_VERIFY", "", kAbsent, ""},
    {kSdma, 0x0009, kAll, "COND_EXE", "", kExact, ""},
    {kSdma, 0x000a, kAll, "ATOMIC", "", kExact, ""},
    {kSdma, 0x000a, kAll, "ATOMIC", "float operations", kAbsent, ""},
    {kSdma, 0x000b, kAll, "CONST_FILL", "", kExact, ""},
    {kSdma, 0x010b, kFrom9, "DATA_FILL_MULTI", "", kAbsent, ""},
    {kSdma, 0x000c, kAll, "PTEPDE", "", kAbsent, "privileged"},
    {kSdma, 0x000d, kAll, "TIMESTAMP_SET", "", kAbsent, ""},
    {kSdma, 0x010d, kAll, "TIMESTAMP_GET", "", kApprox, "the global clock"},
    {kSdma, 0x020d, kAll, "TIMESTAMP_GET_GLOBAL", "", kExact, ""},
    {kSdma, 0x000e, kAll, "SRBM_WRITE", "", kAbsent, "privileged"},
    {kSdma, 0x000f, kAll, "PRE_EXE", "", kAbsent, "privileged"},
    {kSdma, 0x0010, k9, "DUMMY_TRAP", "", kExact, ""},
    {kSdma, 0x0111, kFrom10, "GCR", "", kEquivalent, "memory is coherent: only the order is kept"},
};

static_assert(static_cast<int>(Fidelity::kAbsent) == static_cast<int>(fidelity::Degree::kUnsupported));

fidelity::Set set_of(PacketSet set) {
  constexpr fidelity::Set kSets[] = {fidelity::Set::kAql, fidelity::Set::kPm4, fidelity::Set::kSdma};
  return kSets[static_cast<size_t>(set)];
}

}  // namespace

std::span<const FidelityRow> fidelity_rows() {
  return kRows;
}

std::string_view packet_name(PacketSet set, uint32_t code) {
  for (const FidelityRow& row : kRows) {
    if (row.set == set && row.code == code) return row.packet;
  }
  return "unknown";
}

void count_packet(PacketSet set, uint32_t code, std::string_view field) {
  fidelity::RunFidelity& run = fidelity::RunFidelity::of_process();
  if (!run.is_on()) return;
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const FidelityRow& each) {
    return each.set == set && each.code == code && each.field == field;
  });
  if (row == std::end(kRows)) return;
  const std::string name =
      field.empty() ? std::string(row->packet) : fmt::format("{}.{}", row->packet, field);
  run.count(set_of(set), name, static_cast<fidelity::Degree>(row->fidelity), row->note);
}

void count_rejected_packet(PacketSet set, std::string_view reason) {
  fidelity::RunFidelity::of_process().count(set_of(set), reason, fidelity::Degree::kUnsupported,
                                            "the queue stopped");
}

}  // namespace rigel::vgpu
