// Interface between a program and the backend: the function of the accelerator.
#pragma once

#include <cstdint>

/// hsa_agent_dispatch_packet_t.type. Stores the CRC-32 (that of zip and Ethernet) of arg[1] bytes at arg[0]
/// as a uint32_t at return_address.
constexpr uint16_t kCrc32 = 0x8000;
