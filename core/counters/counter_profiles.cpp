#include "core/counters/counter_profiles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace rigel {
namespace {

using Profile = hsa_ven_amd_aqlprofile_profile_t;
using Packet = hsa_ext_amd_aql_pm4_packet_t;
using Event = hsa_ven_amd_aqlprofile_event_t;
using InfoData = hsa_ven_amd_aqlprofile_info_data_t;

constexpr size_t kReasonBytes = 256;
thread_local constinit char last_reason[kReasonBytes] = "";

template <class... Args>
[[nodiscard]] Failure refuse(Status status, fmt::format_string<Args...> format, Args&&... args) {
  char* const end =
      fmt::vformat_to_n(last_reason, kReasonBytes - 1, format, fmt::make_format_args(args...)).out;
  *end = '\0';
  return fail(status, "aqlprofile: {}", static_cast<const char*>(last_reason));
}

// The dimensions of samples, as AMD's library numbers and names them.
enum Dimension : int { kDie = 0, kEngine = 2, kArray = 3, kProcessor = 4, kInstance = 5 };
constexpr std::pair<Dimension, const char*> kDimensions[] = {
    {kDie, "XCD"}, {kEngine, "SE"}, {kArray, "SA"}, {kProcessor, "WGP"}, {kInstance, "INSTANCE"}};

// Positions in the command buffer are multiples of this.
constexpr uint64_t kCommandAlignment = 256;

uint64_t round_up(uint64_t bytes) {
  return (bytes + kCommandAlignment - 1) / kCommandAlignment * kCommandAlignment;
}

// Returns false if the device has no such block.
bool describe(const Agent& device, uint32_t id, hsabe_counter_block_t& out) {
  out = {};
  out.struct_size = sizeof out;
  return device.backend().counters.describe_block(device.device(), id, &out) == HSA_STATUS_SUCCESS;
}

Result<hsabe_counter_block_t> find_block(const Agent& device, uint32_t id) {
  hsabe_counter_block_t block;
  if (!describe(device, id, block))
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "the GPU has no block {}", id);
  return block;
}

uint64_t samples_of(const hsabe_counter_block_t& block) {
  return uint64_t{block.engines} * block.arrays * block.processors;
}

bool is_supported(const Agent& device, const Event& event) {
  return device.backend().counters.counts(device.device(), &event) != 0;
}

Status refuse_event(const Event& event) {
  return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "event {} of block {}, instance {}, is not supported",
                event.counter_id, static_cast<uint32_t>(event.block_name), event.block_index);
}

bool are_equal(const Event& a, const Event& b) {
  return a.block_name == b.block_name && a.block_index == b.block_index && a.counter_id == b.counter_id;
}

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Checks a buffer of the program that holds numbers of type T.
template <class T>
Status check_buffer(const hsa_ven_amd_aqlprofile_descriptor_t& buffer, uint64_t bytes, const char* name) {
  if (buffer.ptr == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: the {} buffer is NULL", name);
  if (buffer.size < bytes)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: the {} buffer is too small", name);
  if (address_of(buffer.ptr) % alignof(T) != 0)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: the {} buffer is misaligned", name);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

// The command buffer holds the commands of start, stop and read, in this order.
struct CounterProfiles::Layout {
  static_assert(HSABE_COUNTERS_START == 0 && HSABE_COUNTERS_STOP == 1 && HSABE_COUNTERS_READ == 2);

  const Agent& device;
  uint64_t dies = 1;
  std::vector<uint64_t> samples{};  // of each event, for a die
  uint64_t output_bytes = 0;
  std::array<uint64_t, 3> dwords{};     // of each action
  std::array<uint64_t, 3> positions{};  // bytes from the start of the command buffer
  uint64_t command_bytes = 0;

  void make_packet(const Profile& profile, uint32_t action, Packet& packet) const {
    device.backend().counters.make_packet(
        device.device(), address_of(profile.command_buffer.ptr) + positions[action], dwords[action], &packet);
  }
};

const char* CounterProfiles::error_string() {
  return last_reason;
}

Result<const Agent*> CounterProfiles::find_device(hsa_agent_t agent) const {
  const Agent* const device = machine_.find_agent(agent);
  if (device == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: invalid handle", agent.handle);
  if (!device->backend().has_counters())
    return refuse(HSA_STATUS_ERROR_INVALID_AGENT, "agent: has no performance counters");
  return device;
}

Status CounterProfiles::validate_event(hsa_agent_t agent, const Event* event, bool* result) const {
  if (event == nullptr || result == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "validate_event: a pointer is NULL");
  *result = false;
  const auto device = find_device(agent);
  if (!device) return device.error();
  *result = is_supported(**device, *event);
  return HSA_STATUS_SUCCESS;
}

Result<CounterProfiles::Layout> CounterProfiles::lay_out(const Profile* profile) const {
  if (profile == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: is NULL");
  if (profile->type == HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_TRACE)
    return refuse(HSA_STATUS_ERROR, "thread traces are not supported");
  if (profile->type != HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: invalid type {}",
                  static_cast<uint32_t>(profile->type));
  if (profile->event_count == 0 || profile->events == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: has no events");
  const auto device = find_device(profile->agent);
  if (!device) return tl::unexpected(device.error());

  Layout layout{.device = **device};
  for (uint32_t i = 0; i < profile->event_count; ++i) {
    const Event& event = profile->events[i];
    if (!is_supported(layout.device, event)) return tl::unexpected(refuse_event(event));
    const auto block = find_block(layout.device, event.block_name);
    if (!block) return tl::unexpected(block.error());
    const auto of_instance = std::count_if(profile->events, profile->events + i + 1, [&](const Event& other) {
      return other.block_name == event.block_name && other.block_index == event.block_index;
    });
    if (of_instance > block->counters)
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                    "profile: more than {} events of block {}, instance {}", block->counters,
                    static_cast<uint32_t>(event.block_name), event.block_index);
    layout.dies = block->dies;
    layout.samples.push_back(samples_of(*block));
    layout.output_bytes += layout.dies * layout.samples.back() * sizeof(uint64_t);
  }
  for (uint32_t action = 0; action < layout.dwords.size(); ++action) {
    layout.dwords[action] = layout.device.backend().counters.write_commands(
        layout.device.device(), action, profile->events, profile->event_count, 0, nullptr);
    layout.positions[action] = layout.command_bytes;
    layout.command_bytes += round_up(layout.dwords[action] * sizeof(uint32_t));
  }
  if (std::max(layout.output_bytes, layout.command_bytes) > UINT32_MAX)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: too many events");
  return layout;
}

Status CounterProfiles::start(Profile* profile, Packet* packet) const {
  const auto layout = lay_out(profile);
  if (!layout) return layout.error();
  bool fits = true;
  const auto request = [&](hsa_ven_amd_aqlprofile_descriptor_t& buffer, uint64_t bytes) {
    if (buffer.size >= bytes) return;
    buffer.size = static_cast<uint32_t>(bytes);
    if (buffer.ptr != nullptr) fits = false;
  };
  request(profile->output_buffer, layout->output_bytes);
  request(profile->command_buffer, layout->command_bytes);
  if (!fits) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "profile: a buffer is too small");
  if (profile->command_buffer.ptr == nullptr) return HSA_STATUS_SUCCESS;
  if (const Status status = check_buffer<uint64_t>(profile->output_buffer, layout->output_bytes, "output");
      status != HSA_STATUS_SUCCESS)
    return status;
  if (const Status status = check_buffer<uint32_t>(profile->command_buffer, layout->command_bytes, "command");
      status != HSA_STATUS_SUCCESS)
    return status;
  if (packet == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "packet: is NULL");

  std::memset(profile->output_buffer.ptr, 0, layout->output_bytes);
  auto* const commands = static_cast<std::byte*>(profile->command_buffer.ptr);
  for (uint32_t action = 0; action < layout->dwords.size(); ++action) {
    layout->device.backend().counters.write_commands(
        layout->device.device(), action, profile->events, profile->event_count,
        address_of(profile->output_buffer.ptr),
        reinterpret_cast<uint32_t*>(commands + layout->positions[action]));
  }
  layout->make_packet(*profile, HSABE_COUNTERS_START, *packet);
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::make_packet(const Profile* profile, uint32_t action, Packet* packet) const {
  const auto layout = lay_out(profile);
  if (!layout) return layout.error();
  if (packet == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "packet: is NULL");
  if (const Status status = check_buffer<uint32_t>(profile->command_buffer, layout->command_bytes, "command");
      status != HSA_STATUS_SUCCESS)
    return status;
  layout->make_packet(*profile, action, *packet);
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::stop(const Profile* profile, Packet* packet) const {
  return make_packet(profile, HSABE_COUNTERS_STOP, packet);
}

Status CounterProfiles::read(const Profile* profile, Packet* packet) const {
  return make_packet(profile, HSABE_COUNTERS_READ, packet);
}

Status CounterProfiles::legacy_get_pm4(const Packet* packet, void* data) const {
  if (packet == nullptr || data == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "legacy_get_pm4: a pointer is NULL");
  for (const Agent& agent : machine_.agents()) {
    const hsabe_counter_ops_t& counters = agent.backend().counters;
    if (counters.convert_packet == nullptr) continue;
    if (counters.convert_packet(agent.device(), packet, data) == HSA_STATUS_SUCCESS)
      return HSA_STATUS_SUCCESS;
  }
  return refuse(HSA_STATUS_ERROR, "legacy_get_pm4: the queues of all GPUs take the packet itself");
}

// An action that needs no profile, only a command buffer of exactly its size.
Status CounterProfiles::queue_command(const Profile& profile, uint32_t action, void* packet) const {
  const auto device = find_device(profile.agent);
  if (!device) return device.error();
  const hsabe_counter_ops_t& counters = (*device)->backend().counters;
  const uint64_t dwords = counters.write_commands((*device)->device(), action, nullptr, 0, 0, nullptr);
  const uint64_t bytes = dwords * sizeof(uint32_t);
  if (profile.command_buffer.ptr == nullptr) {
    // The interface has no other place for the size.
    const_cast<Profile&>(profile).command_buffer.size = static_cast<uint32_t>(bytes);
    return HSA_STATUS_SUCCESS;
  }
  if (const Status status = check_buffer<uint32_t>(profile.command_buffer, bytes, "command");
      status != HSA_STATUS_SUCCESS)
    return status;
  if (packet == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: value is NULL");
  counters.write_commands((*device)->device(), action, nullptr, 0, 0,
                          static_cast<uint32_t*>(profile.command_buffer.ptr));
  counters.make_packet((*device)->device(), address_of(profile.command_buffer.ptr), dwords,
                       static_cast<Packet*>(packet));
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::get_info(const Profile* profile, uint32_t attribute, void* value) const {
  if (profile == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: profile is NULL");
  // AMD's library continues the list with a command that waits; its profilers use it.
  constexpr uint32_t kWaitCommand = HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD + 1;
  switch (attribute) {
    case HSA_VEN_AMD_AQLPROFILE_INFO_ENABLE_CMD:
      return queue_command(*profile, HSABE_COUNTERS_ENABLE, value);
    case HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD:
      return queue_command(*profile, HSABE_COUNTERS_DISABLE, value);
    case kWaitCommand:
      return queue_command(*profile, HSABE_COUNTERS_WAIT, value);
    default:
      break;
  }
  if (value == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: value is NULL");
  switch (attribute) {
    case HSA_VEN_AMD_AQLPROFILE_INFO_COMMAND_BUFFER_SIZE:
    case HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA_SIZE: {
      const auto layout = lay_out(profile);
      if (!layout) return layout.error();
      const bool is_output = attribute == HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA_SIZE;
      *static_cast<uint32_t*>(value) =
          static_cast<uint32_t>(is_output ? layout->output_bytes : layout->command_bytes);
      return HSA_STATUS_SUCCESS;
    }
    case HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA: {
      auto& wanted = *static_cast<InfoData*>(value);
      wanted.pmc_data.result = 0;
      const auto add = [](hsa_ven_amd_aqlprofile_info_type_t, InfoData* found, void* data) -> hsa_status_t {
        auto& sum = *static_cast<InfoData*>(data);
        const bool is_wanted = are_equal(sum.pmc_data.event, found->pmc_data.event) &&
                               (sum.sample_id == UINT32_MAX || sum.sample_id == found->sample_id);
        if (is_wanted) sum.pmc_data.result += found->pmc_data.result;
        return HSA_STATUS_SUCCESS;
      };
      return iterate_data(profile, add, value);
    }
    case HSA_VEN_AMD_AQLPROFILE_INFO_TRACE_DATA:
      return refuse(HSA_STATUS_ERROR, "thread traces are not supported");
    case HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS: {
      const auto device = find_device(profile->agent);
      if (!device) return device.error();
      if (profile->events == nullptr)
        return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: the profile has no event");
      if (!is_supported(**device, *profile->events)) return refuse_event(*profile->events);
      const auto block = find_block(**device, profile->events->block_name);
      if (!block) return block.error();
      *static_cast<uint32_t*>(value) = block->counters;
      return HSA_STATUS_SUCCESS;
    }
    case HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID: {
      const auto device = find_device(profile->agent);
      if (!device) return device.error();
      auto& query = *static_cast<hsa_ven_amd_aqlprofile_id_query_t*>(value);
      if (query.name == nullptr)
        return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: the name is NULL");
      for (uint32_t id = 0; id < HSA_VEN_AMD_AQLPROFILE_BLOCKS_NUMBER; ++id) {
        hsabe_counter_block_t block;
        if (!describe(**device, id, block)) continue;
        if (std::string_view(block.name.data, block.name.size) != query.name) continue;
        query.id = id;
        query.instance_count = block.instances;
        return HSA_STATUS_SUCCESS;
      }
      return refuse(HSA_STATUS_ERROR, "unknown block '{}'", query.name);
    }
    default:
      return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "get_info: unknown attribute {}", attribute);
  }
}

Status CounterProfiles::iterate_data(const Profile* profile, hsa_ven_amd_aqlprofile_data_callback_t callback,
                                     void* data) const {
  const auto layout = lay_out(profile);
  if (!layout) return layout.error();
  if (callback == nullptr) return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "iterate_data: callback is NULL");
  if (const Status status = check_buffer<uint64_t>(profile->output_buffer, layout->output_bytes, "output");
      status != HSA_STATUS_SUCCESS)
    return status;
  const auto* next = static_cast<const uint64_t*>(profile->output_buffer.ptr);
  for (uint64_t die = 0; die < layout->dies; ++die) {
    for (uint32_t i = 0; i < profile->event_count; ++i) {
      for (uint64_t sample = 0; sample < layout->samples[i]; ++sample) {
        InfoData info{};
        info.sample_id = static_cast<uint32_t>(die * layout->samples[i] + sample);
        info.pmc_data.event = profile->events[i];
        info.pmc_data.result = *next++;
        const Status status = callback(HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &info, data);
        if (status == HSA_STATUS_INFO_BREAK) return HSA_STATUS_SUCCESS;
        if (status != HSA_STATUS_SUCCESS) return status;
      }
    }
  }
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::iterate_event_ids(hsa_ven_amd_aqlprofile_eventname_callback_t callback) {
  if (callback == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "iterate_event_ids: callback is NULL");
  for (const auto& [id, name] : kDimensions) callback(id, name);
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::iterate_event_coord(hsa_agent_t agent, const Event& event, uint32_t sample_id,
                                            hsa_ven_amd_aqlprofile_coordinate_callback_t callback,
                                            void* data) const {
  if (callback == nullptr)
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "iterate_event_coord: callback is NULL");
  const auto device = find_device(agent);
  if (!device) return device.error();
  const auto block = find_block(**device, event.block_name);
  if (!block) return block.error();
  if (event.block_index >= block->instances || sample_id >= block->dies * samples_of(*block))
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, "iterate_event_coord: no sample {} of instance {}",
                  sample_id, event.block_index);
  // In order of samples: the last changes fastest.
  const std::pair<Dimension, uint32_t> extents[] = {{kInstance, block->instances},
                                                    {kDie, block->dies},
                                                    {kEngine, block->engines},
                                                    {kArray, block->arrays},
                                                    {kProcessor, block->processors}};
  uint64_t below = block->dies * samples_of(*block);  // samples with the same earlier coordinates
  uint64_t rest = event.block_index * below + sample_id;
  int position = 0;
  for (const auto& [id, extent] : extents) {
    if (id != kInstance) below /= extent;
    const auto coordinate = static_cast<int>(rest / below);
    rest %= below;
    if (extent == 1 && id != kInstance) continue;
    const auto* const named =
        std::find_if(std::begin(kDimensions), std::end(kDimensions),
                     [&, wanted = id](const auto& entry) { return entry.first == wanted; });
    callback(position++, id, static_cast<int>(extent), coordinate, named->second, data);
  }
  return HSA_STATUS_SUCCESS;
}

Status CounterProfiles::att_marker() {
  return refuse(HSA_STATUS_ERROR, "thread traces are not supported");
}

}  // namespace rigel
