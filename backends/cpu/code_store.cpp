#include "backends/cpu/code_store.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <string>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/notes.hpp"
#include "backends/cpu/pages.hpp"
#include "backends/cpu/refusal.hpp"

namespace rigel::cpu {

/// A loaded code object.
struct Image {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes, whole pages
  std::vector<Kernel> kernels;
  std::vector<std::pair<uint16_t, hsa_cpu_agent_function_t>> agent_functions;
};

namespace {

constexpr std::string_view kDescriptorSuffix = ".kd";
constexpr uint32_t kKernargAlignment = 16;
constexpr uint32_t kFirstUserType = 0x8000;

// Returns the defect of a descriptor; null if it is valid.
const char* check_descriptor(const hsa_cpu_descriptor_t& descriptor) {
  if (descriptor.magic != HSA_CPU_DESCRIPTOR_MAGIC)
    return "the magic number of the CPU kernel descriptor is invalid";
  if (descriptor.abi_major != HSA_CPU_ABI_MAJOR) return "the version of the CPU kernel ABI is not supported";
  if (descriptor.group_segment_fixed_size > kGroupSegmentSize)
    return "the kernel needs more group memory than the agent has";
  if (descriptor.private_segment_fixed_size > kPrivateSegmentMax)
    return "the kernel needs more private memory than the agent has";
  const uint16_t* const required = descriptor.required_workgroup_size;
  const bool any = required[0] == 0 && required[1] == 0 && required[2] == 0;
  const uint64_t product = uint64_t{required[0]} * required[1] * required[2];
  if (!any && (product == 0 || product > kWorkgroupMaxSize))
    return "the required work-group size is not possible";
  return nullptr;
}

void make_writable(const Image& image) noexcept {
  mprotect(reinterpret_cast<void*>(image.address), image.size, PROT_READ | PROT_WRITE);
}

}  // namespace

CodeStore::CodeStore(const hsabe_host_t* host) : host_(host) {
  // Kernels must not use other libraries of the process.
  for (const char* const name : {"libm.so.6", "libmvec.so.1", "libc.so.6"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) libraries_.push_back(library);
  }
}

CodeStore::~CodeStore() {
  for (void* const library : libraries_) dlclose(library);
}

uint32_t CodeStore::accepts(const hsabe_code_target_t& target) const {
  const auto no = [this](const char* why) {
    hsabe::fail(host_, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, why);
    return uint32_t{0};
  };
  if (target.elf_machine != host_elf_machine()) return no("the code is for another CPU architecture");
  if (target.elf_os_abi != ELFOSABI_SYSV && target.elf_os_abi != ELFOSABI_GNU) {
    return no("the code is for another operating system");
  }
  const Notes notes = read_notes({static_cast<const std::byte*>(target.image), target.image_size});
  if (notes.problem) return no(notes.problem);
  if (!notes.found) return no("the note .note.hsa_cpu is missing; compile with <hsa_cpu/kernel.hpp>");
  if (notes.abi_major != HSA_CPU_ABI_MAJOR) {
    refuse(host_, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
           "version %u of the CPU kernel ABI is not supported; this backend has version %u", notes.abi_major,
           HSA_CPU_ABI_MAJOR);
    return 0;
  }
  if (const uint64_t missing = notes.features & ~host_features(); missing != 0) {
    refuse(host_, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "this CPU lacks features that the code uses: %s",
           describe_features(missing).c_str());
    return 0;
  }
  // Code that uses more features ranks higher.
  return 1 + static_cast<uint32_t>(__builtin_popcountll(notes.features));
}

hsabe_status_t CodeStore::resolve(std::string_view name, uint64_t* address) const {
  const std::string text(name);
  for (void* const library : libraries_) {
    if (void* const found = dlsym(library, text.c_str())) {
      *address = reinterpret_cast<uint64_t>(found);
      return HSA_STATUS_SUCCESS;
    }
  }
  return refuse(host_, HSA_STATUS_ERROR_VARIABLE_UNDEFINED, "symbol %s: neither in libm nor in libc",
                text.c_str());
}

hsabe_status_t CodeStore::read_symbols(const hsabe_segment_t& segment, const hsabe_code_symbol_t* symbols,
                                       uint64_t symbol_count, Image* image) const {
  const auto inside = [&segment](uint64_t address, uint64_t size) {
    return address >= segment.device_address && address - segment.device_address <= segment.size &&
           size <= segment.size - (address - segment.device_address);
  };
  for (uint64_t i = 0; i < symbol_count; ++i) {
    std::string_view name = hsabe::view(symbols[i].name);
    const uint64_t address = symbols[i].device_address;
    if (name.ends_with(kDescriptorSuffix)) {
      const auto invalid = [&](const char* why) {
        return refuse(host_, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "%.*s: %s", static_cast<int>(name.size()),
                      name.data(), why);
      };
      hsa_cpu_descriptor_t descriptor;
      if (address % alignof(uint64_t) != 0 || !inside(address, sizeof descriptor)) {
        return invalid("the descriptor is outside the code object");
      }
      std::memcpy(&descriptor, reinterpret_cast<const void*>(address), sizeof descriptor);
      if (const char* const why = check_descriptor(descriptor)) return invalid(why);
      const uint64_t entry = address + static_cast<uint64_t>(descriptor.kernel_code_entry_byte_offset);
      if (!inside(entry, 1)) return invalid("the entry point is outside the code object");
      const uint16_t* const required = descriptor.required_workgroup_size;
      image->kernels.push_back({address,
                                reinterpret_cast<hsa_cpu_entry_t>(entry),
                                descriptor.group_segment_fixed_size,
                                descriptor.private_segment_fixed_size,
                                descriptor.kernarg_size,
                                {required[0], required[1], required[2]}});
    } else if (name.starts_with(HSA_CPU_AGENT_FUNCTION_PREFIX "0x")) {
      name.remove_prefix(sizeof(HSA_CPU_AGENT_FUNCTION_PREFIX "0x") - 1);
      uint32_t type = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), type, 16);
      if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size() || type < kFirstUserType ||
          type > UINT16_MAX || !inside(address, 1)) {
        return refuse(host_, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                      "agent function %.*s: its type must be from 0x8000 to 0xffff",
                      static_cast<int>(name.size()), name.data());
      }
      image->agent_functions.emplace_back(type, reinterpret_cast<hsa_cpu_agent_function_t>(address));
    }
  }
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t CodeStore::load(const hsabe_segment_t& segment, const hsabe_code_symbol_t* symbols,
                               uint64_t symbol_count, void** out) {
  if (segment.host_address != reinterpret_cast<void*>(segment.device_address)) {
    return refuse(host_, HSA_STATUS_ERROR_INVALID_ARGUMENT, "the host address and the device address differ");
  }
  const uint64_t page = host_page_bytes();
  if (segment.size == 0 || segment.device_address % page != 0) {
    return refuse(host_, HSA_STATUS_ERROR_INVALID_ARGUMENT, "the image does not start at a page boundary");
  }
  auto image = std::make_unique<Image>();
  image->address = segment.device_address;
  image->size = round_up(segment.size, page);
  if (const auto status = read_symbols(segment, symbols, symbol_count, image.get())) return status;

  const PageRanges pages = page_ranges(segment, page);
  if (pages.problem) return refuse(host_, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "%s", pages.problem);
  for (const PageRange& range : pages.ranges) {
    char* const begin = static_cast<char*>(segment.host_address) + range.begin;
    if (mprotect(begin, range.end - range.begin, range.protection) != 0) {
      const int problem = errno;
      make_writable(*image);
      return refuse(host_, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "mprotect failed: %s", strerror(problem));
    }
  }
  __builtin___clear_cache(static_cast<char*>(segment.host_address),
                          static_cast<char*>(segment.host_address) + segment.size);
  if (const auto status = add(*image)) {
    make_writable(*image);
    return status;
  }
  *out = image.release();
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t CodeStore::add(const Image& image) noexcept {
  const WriterLock lock(mutex_);
  for (const auto& [type, function] : image.agent_functions) {
    if (agent_functions_.contains(type)) {
      return refuse(host_, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                    "agent dispatch type 0x%x: another code object already has a function for it", type);
    }
  }
  try {
    for (const Kernel& kernel : image.kernels) kernels_.insert_or_assign(kernel.object, kernel);
    for (const auto& [type, function] : image.agent_functions) agent_functions_.emplace(type, function);
  } catch (const std::bad_alloc&) {
    remove(image);
    return hsabe::fail(host_, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory for its kernels");
  }
  return HSA_STATUS_SUCCESS;
}

void CodeStore::remove(const Image& image) noexcept {
  for (const Kernel& kernel : image.kernels) kernels_.erase(kernel.object);
  for (const auto& [type, function] : image.agent_functions) agent_functions_.erase(type);
}

void CodeStore::unload(void* opaque) noexcept {
  const std::unique_ptr<Image> image(static_cast<Image*>(opaque));
  {
    const WriterLock lock(mutex_);
    remove(*image);
    generation_.fetch_add(1, std::memory_order_release);
  }
  // The memory must be writable when it is returned to the runtime.
  make_writable(*image);
}

bool CodeStore::find_kernel(uint64_t object, Kernel* kernel) const noexcept {
  const ReaderLock lock(mutex_);
  const auto found = kernels_.find(object);
  if (found == kernels_.end()) return false;
  *kernel = found->second;
  return true;
}

hsa_cpu_agent_function_t CodeStore::find_agent_function(uint16_t type) const noexcept {
  const ReaderLock lock(mutex_);
  const auto found = agent_functions_.find(type);
  return found == agent_functions_.end() ? nullptr : found->second;
}

hsabe_status_t describe_kernel(const hsabe_host_t* host, const void* bytes, hsabe_kernel_info_t* info) {
  hsa_cpu_descriptor_t descriptor;
  std::memcpy(&descriptor, bytes, sizeof descriptor);
  if (const char* const why = check_descriptor(descriptor)) {
    return hsabe::fail(host, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, why);
  }
  info->kernarg_size = descriptor.kernarg_size;
  info->kernarg_alignment = kKernargAlignment;
  info->group_size = descriptor.group_segment_fixed_size;
  info->private_size = descriptor.private_segment_fixed_size;
  info->dynamic_callstack = 0;
  info->wavefront_size = kWavefrontSize;
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::cpu
