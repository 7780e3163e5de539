#include "backends/cpu/testing/rig.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace rigel::cpu::testing {
namespace {

// A code object loaded by the dynamic linker: its addresses and symbols.
struct View {
  hsabe_segment_t segment{};
  std::vector<std::string> names;
  std::vector<hsabe_code_symbol_t> symbols;
};

View view_of(void* library, const std::vector<std::byte>& file) {
  const link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  View view;
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* const parts = reinterpret_cast<const Elf64_Phdr*>(file.data() + header->e_phoff);
  uint64_t end = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (parts[i].p_type == PT_LOAD) end = std::max(end, parts[i].p_vaddr + parts[i].p_memsz);
  }
  view.segment = {
      sizeof(hsabe_segment_t), map->l_addr, reinterpret_cast<void*>(map->l_addr), end, nullptr, 0};

  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
    const auto* const names =
        reinterpret_cast<const char*>(file.data() + sections[sections[i].sh_link].sh_offset);
    const size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
    view.names.reserve(count);
    for (size_t s = 0; s < count; ++s) {
      if (symbols[s].st_shndx == SHN_UNDEF) continue;
      view.names.emplace_back(names + symbols[s].st_name);
      view.symbols.push_back(
          {hsabe::str(view.names.back()), map->l_addr + symbols[s].st_value, symbols[s].st_size});
    }
  }
  return view;
}

}  // namespace

hsabe_node_t node_facts(uint32_t node_id) {
  static constexpr hsabe_property_t kProperties[] = {{hsabe::str("cacheline_bytes"), 64},
                                                     {hsabe::str("cpu_cores_count"), 2},
                                                     {hsabe::str("cpu_first"), 0},
                                                     {hsabe::str("cpu_max_clock_mhz"), 3000},
                                                     {hsabe::str("memory_bytes"), 1u << 30}};
  hsabe_node_t node{};
  node.struct_size = sizeof node;
  node.bus = HSABE_BUS_CPU;
  node.node_id = node_id;
  node.name = hsabe::str("A Processor of Some Kind");
  node.properties = kProperties;
  node.property_count = std::size(kProperties);
  return node;
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

Rig::Rig(std::initializer_list<std::pair<const char*, int64_t>> options) {
  for (const auto& [key, value] : options) host.options[key] = value;
  const hsabe_node_t node = node_facts();
  if (kBackend.device->open(host.table(), &node, &device_) != HSA_STATUS_SUCCESS) {
    throw std::runtime_error("the device does not open: " + host.take_report());
  }
}

Rig::~Rig() {
  for (size_t i = 0; i < loaded_.size(); ++i) unload(i);
  kBackend.device->close(device_);
  for (const Loaded& loaded : loaded_) dlclose(loaded.library);
}

hsabe_status_t Rig::try_load(const std::string& path, void** image) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  const View view = view_of(library, read_file(path));
  const auto status =
      kBackend.code->load(device_, &view.segment, view.symbols.data(), view.symbols.size(), image);
  loaded_.push_back({library, status == HSA_STATUS_SUCCESS ? *image : nullptr});
  return status;
}

size_t Rig::load(const std::string& path) {
  void* image;
  if (try_load(path, &image) != HSA_STATUS_SUCCESS) {
    throw std::runtime_error(path + " does not load: " + host.take_report());
  }
  return loaded_.size() - 1;
}

void Rig::unload(size_t image) {
  if (loaded_[image].image) kBackend.code->unload(device_, std::exchange(loaded_[image].image, nullptr));
}

uint64_t Rig::kernel(const std::string& kernel) const {
  for (const Loaded& loaded : loaded_) {
    if (void* const found = dlsym(loaded.library, (kernel + ".kd").c_str())) {
      return reinterpret_cast<uint64_t>(found);
    }
  }
  return 0;
}

uint16_t header_of(hsa_packet_type_t type) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

Packet kernel_packet(uint64_t kernel_object, const void* args, Extent grid, Extent group,
                     uint64_t completion) {
  Packet packet{};
  hsa_kernel_dispatch_packet_t& kernel = packet.kernel;
  kernel.header = header_of(HSA_PACKET_TYPE_KERNEL_DISPATCH);
  const unsigned dimensions = grid.z > 1 || group.z > 1 ? 3 : grid.y > 1 || group.y > 1 ? 2 : 1;
  kernel.setup = static_cast<uint16_t>(dimensions << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
  kernel.workgroup_size_x = static_cast<uint16_t>(group.x);
  kernel.workgroup_size_y = static_cast<uint16_t>(group.y);
  kernel.workgroup_size_z = static_cast<uint16_t>(group.z);
  kernel.grid_size_x = grid.x;
  kernel.grid_size_y = grid.y;
  kernel.grid_size_z = grid.z;
  kernel.kernel_object = kernel_object;
  kernel.kernarg_address = const_cast<void*>(args);
  kernel.completion_signal.handle = completion;
  if (kernel_object != 0) {
    const auto* const descriptor = reinterpret_cast<const uint32_t*>(kernel_object);
    kernel.group_segment_size = descriptor[0];
    kernel.private_segment_size = descriptor[1];
  }
  return packet;
}

TestQueue::TestQueue(Rig& rig, uint32_t packets, uint32_t type)
    : rig_(rig),
      cookie_([] {
        static std::atomic<uint64_t> next{1};
        return next.fetch_add(1);
      }()),
      doorbell_(rig.host.create_signal(-1)) {
  hsabe_queue_desc_t desc{};
  desc.struct_size = sizeof desc;
  desc.cookie = cookie_;
  desc.doorbell_signal = doorbell_;
  desc.packets = packets;
  desc.type = type;
  desc.private_segment_size = UINT32_MAX;
  desc.group_segment_size = UINT32_MAX;
  info_.struct_size = sizeof info_;
  if (kBackend.queue->create(rig.device(), &desc, &info_) != HSA_STATUS_SUCCESS) {
    rig.host.destroy_signal(doorbell_);
    throw std::runtime_error("no queue: " + rig.host.take_report());
  }
}

TestQueue::~TestQueue() {
  destroy();
}

void TestQueue::destroy() {
  if (!info_.queue) return;
  kBackend.queue->destroy(std::exchange(info_.queue, nullptr));
  rig_.host.destroy_signal(std::exchange(doorbell_, 0));
}

uint64_t TestQueue::reserve() {
  const uint64_t index = __atomic_fetch_add(&amd().write_dispatch_id, 1, __ATOMIC_RELAXED);
  while (index - read_index() >= amd().hsa_queue.size) std::this_thread::yield();
  return index;
}

void TestQueue::write(uint64_t index, const Packet& packet) {
  Packet& to = slot(index);
  std::memcpy(to.bytes + sizeof to.header, packet.bytes + sizeof packet.header,
              sizeof packet - sizeof packet.header);
  __atomic_store_n(&to.header, packet.header, __ATOMIC_RELEASE);
}

void TestQueue::ring(uint64_t index) {
  rig_.host.store(doorbell_, static_cast<int64_t>(index));
}

uint64_t TestQueue::submit(const Packet& packet) {
  const uint64_t index = reserve();
  write(index, packet);
  ring(index);
  return index;
}

bool TestQueue::run(Packet packet) {
  const uint64_t done = rig_.host.create_signal(1);
  packet.kernel.completion_signal.handle = done;
  submit(packet);
  const bool completed = rig_.host.wait_equal(done, 0);
  rig_.host.destroy_signal(done);
  return completed;
}

}  // namespace rigel::cpu::testing
