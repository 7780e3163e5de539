// A tool that receives and changes packets. It prints each kernel dispatch with the name of the kernel. It
// sets the packet's barrier bit and fences, so that the dispatches of a queue run one after another. If a bug
// disappears with this tool, a dependency between two kernels is probably missing. With the option {"skip":
// "<kernel>"} it replaces the dispatches of one kernel by barrier packets with the same completion signals:
// the kernel does not run, and the program continues.
#include <atomic>
#include <cstdio>
#include <hsa_plugin/hsa_tool.hpp>
#include <map>
#include <mutex>
#include <regex>
#include <string>

namespace {

// Reads the only option; without it, `skip` is empty. (A tool with more options needs a JSON reader.) Returns
// false if the options are invalid.
bool read_options(std::string_view config, std::string& skip) {
  static const std::regex kOptions(R"x(\s*\{\s*("skip"\s*:\s*"([^"\\]*)"\s*)?\}\s*)x");
  std::cmatch found;
  if (!std::regex_match(config.begin(), config.end(), found, kOptions)) return false;
  skip = found[2];
  return true;
}

// Data of the callbacks. Never freed, because a callback on another thread may run after the tool's
// destructor.
struct State {
  const HsaApiTable& tables;
  std::string skip;
  std::mutex mutex;
  std::map<uint64_t, std::string> names;  // of kernels, by the address that packets have; guarded by mutex

  std::string name_of(uint64_t kernel) {
    const std::lock_guard lock(mutex);
    const auto found = names.find(kernel);
    return found == names.end() ? "of unknown name" : found->second;
  }
};
constinit std::atomic<State*> current{nullptr};

class Packets {
 public:
  explicit Packets(hsatool::Host host) {
    std::string skip;
    read_options(host.config(), skip);
    current = new State{host.tables(), std::move(skip), {}, {}};
  }

  static void check(std::string_view config, hsatool::Mistakes mistakes) {
    std::string skip;
    if (!read_options(config, skip)) mistakes("the only option is \"skip\", the name of a kernel");
  }

  // --- Calls: the names of kernels -----------------------------------------------------------------------

  static bool wants(const hsatool_function_t& function) {
    return function.id == HSATOOL_ID_hsa_executable_symbol_get_info;
  }

  // The program has requested a kernel's address. The tool requests the name through the runtime's own
  // tables, so that no tool receives this call.
  static void exit(hsatool_call_t& call) {
    const auto& asked = hsatool::arguments<hsatool_hsa_executable_symbol_get_info_args_t>(call);
    if (hsatool::result<hsa_status_t>(call) != HSA_STATUS_SUCCESS ||
        asked.attribute != HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)
      return;
    State& state = *current;
    const auto get_info = state.tables.core_->hsa_executable_symbol_get_info_fn;
    uint32_t length = 0;
    get_info(asked.executable_symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
    std::string name(length, '\0');
    get_info(asked.executable_symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
    if (name.ends_with(".kd")) name.resize(name.size() - 3);
    const std::lock_guard lock(state.mutex);
    state.names[*static_cast<uint64_t*>(asked.value)] = name;
  }

  // --- Packets -------------------------------------------------------------------------------------------

  // The next tool receives the packets that are written, and the device executes them. A packet that is not
  // written is dropped.
  static void submit(const hsatool_queue_t&, std::span<const hsatool::Packet> packets, uint64_t index,
                     hsatool::Writer write) {
    for (const hsatool::Packet& packet : packets) {
      if (packet.type() != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
        write(packet);
      } else {
        forward(packet.as<hsa_kernel_dispatch_packet_t>(), index, write);
      }
      ++index;
    }
  }

 private:
  static void forward(hsa_kernel_dispatch_packet_t packet, uint64_t index, hsatool::Writer write) {
    State& state = *current;
    const std::string name = state.name_of(packet.kernel_object);
    const bool skipped = name == state.skip;
    std::printf("packets: packet %llu: kernel %s, %u work-items%s\n", static_cast<unsigned long long>(index),
                name.c_str(), packet.grid_size_x * packet.grid_size_y * packet.grid_size_z,
                skipped ? ", skipped" : "");
    if (!skipped) {
      packet.header = in_order(HSA_PACKET_TYPE_KERNEL_DISPATCH);
      return write(packet);
    }
    hsa_barrier_and_packet_t barrier{};
    barrier.header = in_order(HSA_PACKET_TYPE_BARRIER_AND);
    barrier.completion_signal = packet.completion_signal;
    write(barrier);
  }

  // Header of a packet that starts when all earlier packets of the queue are complete, and sees their writes.
  static constexpr uint16_t in_order(int type) {
    return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  }
};

}  // namespace

HSATOOL_PLUGIN(Packets, "packets", "1.0")
