// Calls every ioctl with the invalid arguments listed in ioctl_errors.txt, which describes its format.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kVa = 0x100000000000;
constexpr size_t kArgumentBytes = 512;

struct Change {
  std::string name, value;
};

struct Row {
  int line = 0;
  std::string call;
  std::vector<Change> changes;
  int error = 0;                           // linux's error
  std::optional<int> expected_difference;  // this driver's error, if it differs
  std::string reason, text;
  const std::string* value_of(const std::string& name) const {
    for (const Change& change : changes) {
      if (change.name == name) return &change.value;
    }
    return nullptr;
  }
};

int error_of(const std::string& name) {
  static const std::map<std::string, int> kErrors = {
      {"0", 0},           {"EPERM", EPERM},   {"ESRCH", ESRCH},   {"EBADF", EBADF},
      {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EFAULT", EFAULT}, {"EBUSY", EBUSY},
      {"ENODEV", ENODEV}, {"EINVAL", EINVAL}, {"ENOTTY", ENOTTY}, {"EADDRINUSE", EADDRINUSE},
      {"ENOTSUPP", 524},
  };
  const auto found = kErrors.find(name);
  EXPECT_NE(found, kErrors.end()) << name;
  return found == kErrors.end() ? -1 : found->second;
}

Change parse_change(const std::string& word) {
  const size_t equals = word.find('=');
  return equals == word.npos ? Change{word, ""} : Change{word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<Row> rows() {
  std::ifstream file(RIGEL_IOCTL_ERRORS);
  EXPECT_TRUE(file) << RIGEL_IOCTL_ERRORS;
  std::vector<Row> all;
  int line = 0;
  for (std::string text; std::getline(file, text);) {
    ++line;
    if (text.empty() || text[0] == '#') continue;
    Row row;
    row.line = line;
    row.text = text;
    std::istringstream words(text);
    std::string word;
    for (words >> word; words && word != "->"; words >> word) {
      if (row.call.empty()) {
        row.call = word;
      } else {
        row.changes.push_back(parse_change(word));
      }
    }
    words >> word;
    row.error = error_of(word);
    std::getline(words >> std::ws, word);
    if (!word.empty() && word[0] == '(') {
      row.expected_difference = error_of(word.substr(1, word.find(',') - 1));
      row.reason = word.substr(word.find(',') + 2, word.find(')') - word.find(',') - 2);
    }
    EXPECT_NE(word.find_last_of(" _abcdefghijklmnopqrstuvwxyz"), word.npos) << text << ": says no place";
    all.push_back(std::move(row));
  }
  return all;
}

// Fields by name ------------------------------------------------------------------------------------------

struct Field {
  const char* call;
  const char* name;
  size_t offset, bytes;
};
#define FIELD(CALL, type, field) \
  { #CALL, #field, offsetof(type, field), sizeof(type::field) }
constexpr Field kFields[] = {
    FIELD(CREATE_QUEUE, kfd_create_queue, ring_base_address),
    FIELD(CREATE_QUEUE, kfd_create_queue, write_pointer_address),
    FIELD(CREATE_QUEUE, kfd_create_queue, read_pointer_address),
    FIELD(CREATE_QUEUE, kfd_create_queue, ring_size),
    FIELD(CREATE_QUEUE, kfd_create_queue, gpu_id),
    FIELD(CREATE_QUEUE, kfd_create_queue, queue_type),
    FIELD(CREATE_QUEUE, kfd_create_queue, queue_percentage),
    FIELD(CREATE_QUEUE, kfd_create_queue, queue_priority),
    FIELD(CREATE_QUEUE, kfd_create_queue, eop_buffer_address),
    FIELD(CREATE_QUEUE, kfd_create_queue, eop_buffer_size),
    FIELD(CREATE_QUEUE, kfd_create_queue, ctx_save_restore_address),
    FIELD(CREATE_QUEUE, kfd_create_queue, ctx_save_restore_size),
    FIELD(CREATE_QUEUE, kfd_create_queue, ctl_stack_size),
    FIELD(CREATE_QUEUE, kfd_create_queue, sdma_engine_id),
    FIELD(DESTROY_QUEUE, kfd_destroy_queue, queue_id),
    FIELD(UPDATE_QUEUE, kfd_update_queue, ring_base_address),
    FIELD(UPDATE_QUEUE, kfd_update_queue, queue_id),
    FIELD(UPDATE_QUEUE, kfd_update_queue, ring_size),
    FIELD(UPDATE_QUEUE, kfd_update_queue, queue_percentage),
    FIELD(UPDATE_QUEUE, kfd_update_queue, queue_priority),
    FIELD(SET_CU_MASK, kfd_set_cu_mask, queue_id),
    FIELD(SET_CU_MASK, kfd_set_cu_mask, num_cu_mask),
    FIELD(SET_CU_MASK, kfd_set_cu_mask, cu_mask_ptr),
    FIELD(GET_QUEUE_WAVE_STATE, kfd_get_queue_wave_state, ctl_stack_address),
    FIELD(GET_QUEUE_WAVE_STATE, kfd_get_queue_wave_state, queue_id),
    FIELD(ALLOC_QUEUE_GWS, kfd_alloc_queue_gws, queue_id),
    FIELD(ALLOC_QUEUE_GWS, kfd_alloc_queue_gws, num_gws),
    FIELD(SET_MEMORY_POLICY, kfd_set_memory_policy, alternate_aperture_base),
    FIELD(SET_MEMORY_POLICY, kfd_set_memory_policy, alternate_aperture_size),
    FIELD(SET_MEMORY_POLICY, kfd_set_memory_policy, gpu_id),
    FIELD(SET_MEMORY_POLICY, kfd_set_memory_policy, default_policy),
    FIELD(SET_MEMORY_POLICY, kfd_set_memory_policy, alternate_policy),
    FIELD(GET_CLOCK_COUNTERS, kfd_get_clock_counters, gpu_id),
    FIELD(GET_PROCESS_APERTURES_NEW, kfd_get_process_apertures_new, apertures_ptr),
    FIELD(GET_PROCESS_APERTURES_NEW, kfd_get_process_apertures_new, num_of_nodes),
    FIELD(SET_SCRATCH_BACKING_VA, kfd_set_scratch_backing_va, gpu_id),
    FIELD(SET_TRAP_HANDLER, kfd_set_trap_handler, gpu_id),
    FIELD(GET_TILE_CONFIG, kfd_get_tile_config, tile_config_ptr),
    FIELD(GET_TILE_CONFIG, kfd_get_tile_config, macro_tile_config_ptr),
    FIELD(GET_TILE_CONFIG, kfd_get_tile_config, num_tile_configs),
    FIELD(GET_TILE_CONFIG, kfd_get_tile_config, num_macro_tile_configs),
    FIELD(GET_TILE_CONFIG, kfd_get_tile_config, gpu_id),
    FIELD(ACQUIRE_VM, kfd_acquire_vm, drm_fd),
    FIELD(ACQUIRE_VM, kfd_acquire_vm, gpu_id),
    FIELD(SET_XNACK_MODE, kfd_set_xnack_mode, xnack_enabled),
    FIELD(AVAILABLE_MEMORY, kfd_available_memory, gpu_id),
    FIELD(SMI_EVENTS, kfd_smi_events, gpu_id),
    FIELD(RUNTIME_ENABLE, kfd_runtime_enable, mode_mask),
    FIELD(CREATE_EVENT, kfd_create_event, event_page_offset),
    FIELD(CREATE_EVENT, kfd_create_event, event_type),
    FIELD(DESTROY_EVENT, kfd_event_ref, event_id),
    FIELD(SET_EVENT, kfd_event_ref, event_id),
    FIELD(RESET_EVENT, kfd_event_ref, event_id),
    FIELD(WAIT_EVENTS, kfd_wait_events, events_ptr),
    FIELD(WAIT_EVENTS, kfd_wait_events, num_events),
    FIELD(ALLOC_MEMORY, kfd_alloc_memory, va_addr),
    FIELD(ALLOC_MEMORY, kfd_alloc_memory, size),
    FIELD(ALLOC_MEMORY, kfd_alloc_memory, mmap_offset),
    FIELD(ALLOC_MEMORY, kfd_alloc_memory, gpu_id),
    FIELD(ALLOC_MEMORY, kfd_alloc_memory, flags),
    FIELD(FREE_MEMORY, kfd_free_memory, handle),
    FIELD(MAP_MEMORY, kfd_map_memory, handle),
    FIELD(MAP_MEMORY, kfd_map_memory, device_ids_array_ptr),
    FIELD(MAP_MEMORY, kfd_map_memory, n_devices),
    FIELD(MAP_MEMORY, kfd_map_memory, n_success),
    FIELD(UNMAP_MEMORY, kfd_map_memory, handle),
    FIELD(UNMAP_MEMORY, kfd_map_memory, device_ids_array_ptr),
    FIELD(UNMAP_MEMORY, kfd_map_memory, n_devices),
    FIELD(UNMAP_MEMORY, kfd_map_memory, n_success),
    FIELD(GET_DMABUF_INFO, kfd_get_dmabuf_info, dmabuf_fd),
    FIELD(IMPORT_DMABUF, kfd_import_dmabuf, gpu_id),
    FIELD(IMPORT_DMABUF, kfd_import_dmabuf, dmabuf_fd),
    FIELD(EXPORT_DMABUF, kfd_export_dmabuf, handle),
    FIELD(SVM, kfd_svm, start_addr),
    FIELD(SVM, kfd_svm, size),
    FIELD(SVM, kfd_svm, op),
    FIELD(SVM, kfd_svm, nattr),
    {"SVM", "type", sizeof(kfd_svm), 4},
    {"SVM", "value", sizeof(kfd_svm) + 4, 4},
};
#undef FIELD

struct Call {
  uint32_t number = 0;
  uint32_t bytes = 0;
  alignas(8) std::array<std::byte, kArgumentBytes> arguments{};
  template <class T>
  void is(uint32_t n, const T& value) {
    number = n;
    bytes = sizeof value;
    std::memcpy(arguments.data(), &value, sizeof value);
  }
};

// A process with objects of every kind ----------------------------------------------------------------------

class PopulatedProcess {
 public:
  struct State {
    bool acquired = true, busy = false, has_page = true;
    size_t gpu = 0;
  };
  PopulatedProcess(const std::string& call, const State& state) : gpu_(state.gpu) {
    ring_ = map(kRingBytes);
    pointers_ = map(4096);
    eop_ = map(4096);
    area_ = t_.system->process().gpu(0).gpu().board.save_area();
    save_ = map(area_.context_bytes + area_.debug_bytes);
    range_ = map(65536);
    zeros_ = map(8192);
    ids_ = reinterpret_cast<uint32_t*>(map(4096));
    scratch_ = map(1 << 20);
    readonly_ = map(8192);
    ::mprotect(readonly_, 8192, PROT_READ);
    none_ = map(8192);
    ::mprotect(none_, 8192, PROT_NONE);
    hole_ = map(uint64_t{1} << 30) + (1 << 29);
    ::munmap(hole_ - (1 << 29), uint64_t{1} << 30);
    ids_[0] = t_.gpu_id(gpu_);
    file_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (state.acquired) {
      t_.acquire();
    } else {
      t_.render.push_back(t_.system->open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC));
    }
    t_.render.push_back(t_.system->open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC));
    other_ = t_.render.back();
    if (state.acquired) fill(call, state);
  }
  ~PopulatedProcess() {
    if (queue_made_) {
      kfd_destroy_queue d{queue_, 0};
      t_.call(KFD_NR_DESTROY_QUEUE, d);
    }
    for (const int fd : {file_, exported_}) {
      if (fd >= 0) ::close(fd);
    }
    for (const auto& [address, bytes] : maps_) ::munmap(address, bytes);
  }
  PopulatedProcess(const PopulatedProcess&) = delete;
  PopulatedProcess& operator=(const PopulatedProcess&) = delete;

  int make(const Call& call, uint64_t argument, uint64_t direction, uint64_t bytes) {
    return -t_.system->ioctl(t_.kfd, direction << 30 | bytes << 16 | KFD_ABI_IOCTL_TYPE << 8 | call.number,
                             reinterpret_cast<void*>(argument));
  }

  uint64_t value(const std::string& word) const {
    const uint32_t gpu = t_gpu_id(gpu_);
    const std::map<std::string, uint64_t> words = {
        {"null", 0},
        {"kernel", 0xffff888000000000},
        {"hole", at(hole_)},
        {"readonly", at(readonly_)},
        {"none", at(none_)},
        {"inside", at(zeros_) + 64},
        {"next", at(ring_) + 4096},
        {"gpu", gpu},
        {"gpu1", t_gpu_id(1)},
        {"gpu2", t_gpu_id(2)},
        {"stranger", 0xdead},
        {"held", held_},
        {"free", free_},
        {"nothing", uint64_t{gpu} << 32 | 0x7fffff},
        {"page", page_},
        {"vram", vram_},
        {"ring", ring_handle_},
        {"ringmemory", at(ring_)},
        {"range", at(range_)},
        {"memory", memory_event_},
        {"debug", debug_event_},
        {"file", static_cast<uint64_t>(file_)},
        {"other", static_cast<uint64_t>(other_)},
    };
    if (const auto found = words.find(word); found != words.end()) return found->second;
    size_t used = 0;
    const uint64_t number = std::stoull(word, &used, 0);
    EXPECT_EQ(used, word.size()) << word;
    return number;
  }

  Call valid_call(const std::string& name) {
    Call c;
    const uint32_t gpu = t_.gpu_id(gpu_);
    const auto queue = kfd_event_ref{queue_, 0};
    if (name == "GET_VERSION") c.is(KFD_NR_GET_VERSION, kfd_get_version{});
    if (name == "CREATE_QUEUE") c.is(KFD_NR_CREATE_QUEUE, queue_arguments(100));
    if (name == "DESTROY_QUEUE") c.is(KFD_NR_DESTROY_QUEUE, queue);
    if (name == "UPDATE_QUEUE") {
      c.is(KFD_NR_UPDATE_QUEUE, kfd_update_queue{at(ring_), queue_, kRingBytes, 100, 7});
    }
    if (name == "SET_CU_MASK") c.is(KFD_NR_SET_CU_MASK, kfd_set_cu_mask{queue_, 32, at(scratch_)});
    if (name == "GET_QUEUE_WAVE_STATE") {
      c.is(KFD_NR_GET_QUEUE_WAVE_STATE, kfd_get_queue_wave_state{at(scratch_), 0, 0, queue_, 0});
    }
    if (name == "ALLOC_QUEUE_GWS") c.is(KFD_NR_ALLOC_QUEUE_GWS, kfd_alloc_queue_gws{queue_, 1, 0, 0});
    if (name == "SET_MEMORY_POLICY") {
      c.is(KFD_NR_SET_MEMORY_POLICY, kfd_set_memory_policy{0, 0, gpu, 0, 1, 0});
    }
    if (name == "GET_CLOCK_COUNTERS") {
      c.is(KFD_NR_GET_CLOCK_COUNTERS, kfd_get_clock_counters{0, 0, 0, 0, gpu, 0});
    }
    if (name == "GET_PROCESS_APERTURES_NEW") {
      c.is(KFD_NR_GET_PROCESS_APERTURES_NEW, kfd_get_process_apertures_new{at(scratch_), 8, 0});
    }
    if (name == "SET_SCRATCH_BACKING_VA") {
      c.is(KFD_NR_SET_SCRATCH_BACKING_VA, kfd_set_scratch_backing_va{1, gpu, 0});
    }
    if (name == "SET_TRAP_HANDLER") c.is(KFD_NR_SET_TRAP_HANDLER, kfd_set_trap_handler{0, 0, gpu, 0});
    if (name == "GET_TILE_CONFIG") {
      c.is(KFD_NR_GET_TILE_CONFIG,
           kfd_get_tile_config{at(scratch_), at(scratch_) + 4096, 64, 64, gpu, 0, 0, 0});
    }
    if (name == "ACQUIRE_VM") {
      c.is(KFD_NR_ACQUIRE_VM, kfd_acquire_vm{static_cast<uint32_t>(t_.render[0]), t_.gpu_id(0)});
    }
    if (name == "SET_XNACK_MODE") c.is(KFD_NR_SET_XNACK_MODE, kfd_set_xnack_mode{-1});
    if (name == "AVAILABLE_MEMORY") c.is(KFD_NR_AVAILABLE_MEMORY, kfd_available_memory{0, gpu, 0});
    if (name == "SMI_EVENTS") c.is(KFD_NR_SMI_EVENTS, kfd_smi_events{gpu, 0});
    if (name == "RUNTIME_ENABLE") {
      c.is(KFD_NR_RUNTIME_ENABLE, kfd_runtime_enable{0, KFD_RUNTIME_ENABLE_MODE_ENABLE, 0});
    }
    if (name == "CREATE_EVENT") c.is(KFD_NR_CREATE_EVENT, kfd_create_event{});
    if (name == "DESTROY_EVENT") c.is(KFD_NR_DESTROY_EVENT, kfd_event_ref{event_, 0});
    if (name == "SET_EVENT") c.is(KFD_NR_SET_EVENT, kfd_event_ref{event_, 0});
    if (name == "RESET_EVENT") c.is(KFD_NR_RESET_EVENT, kfd_event_ref{event_, 0});
    if (name == "WAIT_EVENTS") {
      kfd_event_data data{};
      data.event_id = event_;
      std::memcpy(scratch_, &data, sizeof data);
      c.is(KFD_NR_WAIT_EVENTS, kfd_wait_events{at(scratch_), 1, 0, 0, 0});
    }
    if (name == "ALLOC_MEMORY") {
      c.is(KFD_NR_ALLOC_MEMORY,
           kfd_alloc_memory{kVa + 0x1000000, 8192, 0, 0, gpu, KFD_MEM_VRAM | KFD_MEM_WRITABLE});
    }
    if (name == "FREE_MEMORY") c.is(KFD_NR_FREE_MEMORY, kfd_free_memory{free_});
    if (name == "MAP_MEMORY") {
      c.is(KFD_NR_MAP_MEMORY, kfd_map_memory{free_, reinterpret_cast<uint64_t>(ids_), 1, 0});
    }
    if (name == "UNMAP_MEMORY") {
      c.is(KFD_NR_UNMAP_MEMORY, kfd_map_memory{held_, reinterpret_cast<uint64_t>(ids_), 1, 0});
    }
    if (name == "GET_DMABUF_INFO") {
      c.is(KFD_NR_GET_DMABUF_INFO, kfd_get_dmabuf_info{0, 0, 0, 0, 0, static_cast<uint32_t>(exported_)});
    }
    if (name == "IMPORT_DMABUF") {
      c.is(KFD_NR_IMPORT_DMABUF,
           kfd_import_dmabuf{kVa + 0x2000000, 0, gpu, static_cast<uint32_t>(exported_)});
    }
    if (name == "EXPORT_DMABUF") c.is(KFD_NR_EXPORT_DMABUF, kfd_export_dmabuf{free_, O_CLOEXEC, 0});
    if (name == "SVM") {
      struct {
        kfd_svm header;
        kfd_svm_attribute attribute;
      } svm{{at(range_), 4096, KFD_SVM_SET_ATTR, 1}, {KFD_SVM_ATTR_GRANULARITY, 9}};
      c.is(KFD_NR_SVM, svm);
    }
    if (name == "DBG_REGISTER") c.is(KFD_NR_DBG_REGISTER, uint64_t{0});
    if (name == "DBG_UNREGISTER") c.is(KFD_NR_DBG_UNREGISTER, uint64_t{0});
    if (name == "DBG_ADDRESS_WATCH") c.is(KFD_NR_DBG_ADDRESS_WATCH, std::array<uint64_t, 2>{});
    if (name == "DBG_WAVE_CONTROL") c.is(KFD_NR_DBG_WAVE_CONTROL, std::array<uint64_t, 2>{});
    if (name == "CRIU_OP") c.is(KFD_NR_CRIU_OP, std::array<uint64_t, 7>{});
    if (name == "DBG_TRAP") c.is(KFD_NR_DBG_TRAP, std::array<uint64_t, 4>{});
    if (name.starts_with("number=")) {
      c.is(static_cast<uint32_t>(std::stoul(name.substr(7), nullptr, 0)), std::array<uint64_t, 4>{});
    }
    EXPECT_NE(c.bytes, 0u) << name;
    return c;
  }

 private:
  static constexpr uint32_t kRingBytes = 65536;

  static uint64_t at(const void* p) { return reinterpret_cast<uint64_t>(p); }
  uint32_t t_gpu_id(size_t i) const { return t_.system->process().gpu(i).gpu().gpu_id; }

  std::byte* map(uint64_t bytes) {
    void* const p =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    maps_.emplace_back(p, bytes);
    return static_cast<std::byte*>(p);
  }
  uint64_t share(std::byte* p, uint64_t bytes) {
    const auto a = t_.allocate(KFD_MEM_USERPTR | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE, bytes, at(p), at(p));
    EXPECT_EQ(a.error, 0);
    EXPECT_EQ(t_.map(a.handle), 0);
    return a.handle;
  }
  kfd_create_queue queue_arguments(uint32_t percentage) const {
    kfd_create_queue a{};
    a.ring_base_address = at(ring_);
    a.write_pointer_address = at(pointers_) + 0x38;
    a.read_pointer_address = at(pointers_) + 0x80;
    a.ring_size = kRingBytes;
    a.gpu_id = t_gpu_id(0);
    a.queue_type = KFD_QUEUE_AQL;
    a.queue_percentage = percentage;
    a.queue_priority = 7;
    a.eop_buffer_address = at(eop_);
    a.eop_buffer_size = 4096;
    a.ctx_save_restore_address = at(save_);
    a.ctx_save_restore_size = area_.context_bytes;
    a.ctl_stack_size = area_.control_stack_bytes;
    return a;
  }

  void fill(const std::string& call, const State& state) {
    ring_handle_ = share(ring_, kRingBytes);
    share(pointers_, 4096);
    share(eop_, 4096);
    share(save_, area_.context_bytes + area_.debug_bytes);
    std::memset(scratch_, 0xff, 4096);
    struct {
      kfd_svm header;
      kfd_svm_attribute attribute;
    } svm{{at(range_), 65536, KFD_SVM_SET_ATTR, 1}, {KFD_SVM_ATTR_ACCESS, t_.gpu_id(0)}};
    EXPECT_EQ(t_.call(KFD_NR_SVM, svm), 0);
    held_ = t_.allocate(KFD_MEM_VRAM | KFD_MEM_WRITABLE, 8192, kVa).handle;
    EXPECT_EQ(t_.map(held_), 0);
    free_ = t_.allocate(KFD_MEM_VRAM | KFD_MEM_WRITABLE, 8192, kVa + 0x10000).handle;
    page_ = t_.allocate(KFD_MEM_GTT | KFD_MEM_WRITABLE, KFD_EVENT_PAGE_BYTES, kVa + 0x20000).handle;
    vram_ = t_.allocate(KFD_MEM_VRAM | KFD_MEM_WRITABLE, KFD_EVENT_PAGE_BYTES, kVa + 0x30000).handle;
    if (state.has_page) make_events();
    kfd_export_dmabuf exported{free_, O_CLOEXEC, 0};
    EXPECT_EQ(t_.call(KFD_NR_EXPORT_DMABUF, exported), 0);
    exported_ = static_cast<int>(exported.dmabuf_fd);
    const bool of_queues = call == "DESTROY_QUEUE" || call == "UPDATE_QUEUE" || call == "SET_CU_MASK" ||
                           call == "GET_QUEUE_WAVE_STATE" || call == "ALLOC_QUEUE_GWS";
    if (!state.busy && !of_queues) return;
    kfd_create_queue a = queue_arguments(call == "GET_QUEUE_WAVE_STATE" ? 0 : 100);
    EXPECT_EQ(t_.call(KFD_NR_CREATE_QUEUE, a), 0);
    queue_ = a.queue_id;
    queue_made_ = true;
  }
  void make_events() {
    kfd_create_event e{};
    e.event_page_offset = page_;
    EXPECT_EQ(t_.call(KFD_NR_CREATE_EVENT, e), 0);
    event_ = e.event_id;
    e = {};
    e.event_type = KFD_EVENT_MEMORY;
    EXPECT_EQ(t_.call(KFD_NR_CREATE_EVENT, e), 0);
    memory_event_ = e.event_id;
    e = {};
    e.event_type = KFD_EVENT_DEBUG_EVENT;
    EXPECT_EQ(t_.call(KFD_NR_CREATE_EVENT, e), 0);
    debug_event_ = e.event_id;
  }

  TestSystem t_{"gfx906:vram=64M,gfx1030:vram=64M:bar=small,gfx803:vram=64M", PeerLink::kPcie, false};
  const size_t gpu_;
  std::vector<std::pair<void*, uint64_t>> maps_;
  Board::SaveArea area_{};
  std::byte *ring_ = nullptr, *pointers_ = nullptr, *eop_ = nullptr, *save_ = nullptr, *range_ = nullptr,
            *zeros_ = nullptr, *scratch_ = nullptr, *hole_ = nullptr, *readonly_ = nullptr, *none_ = nullptr;
  uint32_t* ids_ = nullptr;
  uint64_t held_ = 0, free_ = 0, page_ = 0, vram_ = 0, ring_handle_ = 0;
  uint32_t event_ = 0, memory_event_ = 0, debug_event_ = 0, queue_ = 0;
  bool queue_made_ = false;
  int file_ = -1, other_ = -1, exported_ = -1;
};

int make(const Row& row, bool changed) {
  const std::string* const gpu = row.value_of("@gpu");
  const auto has = [&](const char* name) { return changed && row.value_of(name) != nullptr; };
  PopulatedProcess world(row.call, {.acquired = !has("@new"),
                                    .busy = has("@busy"),
                                    .has_page = !has("@pageless"),
                                    .gpu = gpu == nullptr ? 0 : std::stoul(*gpu)});
  Call call = world.valid_call(row.call);
  // On the heap, because addresses on the stack are accessed without a check.
  const auto arguments = std::make_unique<std::array<std::byte, kArgumentBytes>>(call.arguments);
  uint64_t argument = reinterpret_cast<uint64_t>(arguments->data()), direction = 3, bytes = call.bytes;
  if (has("@twice")) {
    EXPECT_EQ(world.make(call, argument, direction, bytes), 0) << row.text;
    *arguments = call.arguments;
  }
  if (changed) {
    for (const Change& change : row.changes) {
      if (change.name == "@new" || change.name == "@busy" || change.name == "@twice" ||
          change.name == "@pageless" || change.name == "@gpu") {
        continue;
      }
      const uint64_t value = world.value(change.value);
      if (change.name == "@arg") {
        argument = value;
      } else if (change.name == "@size") {
        bytes = value;
      } else if (change.name == "@dir") {
        direction = value;
      } else {
        bool is_known_field = false;
        for (const Field& field : kFields) {
          if (row.call != field.call || change.name != field.name) continue;
          std::memcpy(arguments->data() + field.offset, &value, field.bytes);
          is_known_field = true;
        }
        EXPECT_TRUE(is_known_field) << row.text << ": no field " << change.name;
      }
    }
  }
  return world.make(call, argument, direction, bytes);
}

bool is_always_rejected(const std::string& call) {
  return call.starts_with("DBG_") || call.starts_with("number=") || call == "CRIU_OP";
}

TEST(IoctlErrors, MatchLinux) {
  std::set<std::string> valid_calls;  // calls that have succeeded with valid arguments
  for (const Row& row : rows()) {
    const std::string location = "ioctl_errors.txt:" + std::to_string(row.line) + ": " + row.text;
    const std::string* const gpu = row.value_of("@gpu");
    if (!is_always_rejected(row.call) && valid_calls.insert(row.call + (gpu == nullptr ? "" : *gpu)).second) {
      EXPECT_EQ(make(row, false), 0) << location << "\nas it is right";
    }
    const int error = make(row, true);
    if (row.expected_difference) {
      EXPECT_NE(row.reason, "") << location;
      EXPECT_EQ(error, *row.expected_difference)
          << location << "\nis no longer a known difference: say what it is now";
      continue;
    }
    EXPECT_EQ(error, row.error) << location;
  }
}

// The table must have at least one row for every call.
TEST(IoctlErrors, TableCoversEveryIoctl) {
  const std::vector<Row> all = rows();
  for (const IoctlEntry& entry : kfd_ioctls()) {
    if (entry.number >= 0x80) continue;  // of AMD's out-of-tree kernels
    std::string name(entry.name);
    if (const size_t suffix = name.find("_OF_GPU"); suffix != name.npos) name.resize(suffix);
    if (const size_t suffix = name.find("_TO_GPU"); suffix != name.npos) name.resize(suffix);
    if (const size_t suffix = name.find("_FROM_GPU"); suffix != name.npos) name.resize(suffix);
    if (name == "GET_PROCESS_APERTURES") continue;  // has no argument that can be invalid
    bool found = false;
    for (const Row& row : all) found |= row.call == name;
    EXPECT_TRUE(found) << name;
  }
}

}  // namespace
}  // namespace rigel::vgpu
