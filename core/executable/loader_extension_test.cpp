// Functions of hsa_ven_amd_loader.h, and the debuggers' list.
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>

#include "core/executable/debug_rendezvous.hpp"
#include "core/executable/testing/executable_fixture.hpp"
#include "core/executable/uri.hpp"

namespace rigel {
namespace {

class LoaderExtension : public ExecutableFixture {
 public:
  template <class T>
  T loaded_info(hsa_loaded_code_object_t loaded, hsa_ven_amd_loader_loaded_code_object_info_t attribute) {
    T value{};
    EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(loaded, attribute, &value),
              HSA_STATUS_SUCCESS)
        << attribute;
    return value;
  }

  std::string uri_of(hsa_loaded_code_object_t loaded) {
    std::string uri(loaded_info<uint32_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH),
                    '?');
    EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                  loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri.data()),
              HSA_STATUS_SUCCESS);
    return uri;
  }

  /// Loads and freezes the GPU seed.
  hsa_executable_t load_gpu_kernels(const Bytes& bytes, hsa_loaded_code_object_t* loaded) {
    const hsa_executable_t executable = make_executable();
    EXPECT_EQ(registry_.executable_agent_global_variable_define(executable, targets_.gpu.agent(), "outside",
                                                                &external_variable_of_test),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(load(executable, targets_.gpu, bytes, loaded), HSA_STATUS_SUCCESS);
    EXPECT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
    return executable;
  }

  size_t count_segments() {
    size_t count = 0;
    EXPECT_EQ(registry_.ven_amd_loader_query_segment_descriptors(nullptr, &count), HSA_STATUS_SUCCESS);
    return count;
  }
};

TEST_F(LoaderExtension, FindsHostAddressOfDeviceAddress) {
  const Bytes bytes = gpu_kernels();
  hsa_loaded_code_object_t loaded{};
  const hsa_executable_t executable = load_gpu_kernels(bytes, &loaded);
  const uint64_t counter = address_of(executable, "counter", targets_.gpu);
  const void* host = nullptr;
  ASSERT_EQ(registry_.ven_amd_loader_query_host_address(reinterpret_cast<void*>(counter), &host),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(*static_cast<const int*>(host), 7);
  hsa_executable_t owner{};
  ASSERT_EQ(registry_.ven_amd_loader_query_executable(reinterpret_cast<void*>(counter), &owner),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(owner.handle, executable.handle);
}

TEST_F(LoaderExtension, HostAddressOfHostCodeIsItself) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  ASSERT_EQ(freeze(executable), HSA_STATUS_SUCCESS);
  const auto* counter = reinterpret_cast<const void*>(address_of(executable, "counter", targets_.cpu));
  const void* host = nullptr;
  ASSERT_EQ(registry_.ven_amd_loader_query_host_address(counter, &host), HSA_STATUS_SUCCESS);
  EXPECT_EQ(host, counter);
}

TEST_F(LoaderExtension, RejectsUnknownAddresses) {
  const Bytes bytes = gpu_kernels();
  hsa_loaded_code_object_t loaded{};
  const hsa_executable_t executable = load_gpu_kernels(bytes, &loaded);
  const auto base = loaded_info<uint64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
  const auto size = loaded_info<uint64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
  const auto query = [this](uint64_t address) {
    const void* host = nullptr;
    hsa_executable_t owner{};
    const Status status =
        registry_.ven_amd_loader_query_host_address(reinterpret_cast<void*>(address), &host);
    EXPECT_EQ(registry_.ven_amd_loader_query_executable(reinterpret_cast<void*>(address), &owner), status);
    return status;
  };
  EXPECT_EQ(query(base), HSA_STATUS_SUCCESS);
  EXPECT_EQ(query(base + size - 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(query(base + size), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(query(base - 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(query(0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_query_host_address(&base, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_query_executable(&base, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(registry_.executable_destroy(executable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(query(base), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(LoaderExtension, DescribesSegmentsOfAllExecutables) {
  EXPECT_EQ(count_segments(), 0u);
  const Bytes gpu = gpu_kernels();
  const Bytes host = host_kernels();
  hsa_loaded_code_object_t loaded{};
  const hsa_executable_t of_gpu = load_gpu_kernels(gpu, &loaded);
  const hsa_executable_t of_host = load_host_kernels(host);
  ASSERT_EQ(count_segments(), 2u);
  hsa_ven_amd_loader_segment_descriptor_t segments[2];
  size_t count = 2;
  ASSERT_EQ(registry_.ven_amd_loader_query_segment_descriptors(segments, &count), HSA_STATUS_SUCCESS);
  const auto of = [&](hsa_executable_t executable) {
    return *std::find_if(std::begin(segments), std::end(segments),
                         [&](const auto& segment) { return segment.executable.handle == executable.handle; });
  };
  const auto segment = of(of_gpu);
  EXPECT_EQ(segment.agent.handle, targets_.gpu.agent().handle);
  EXPECT_EQ(segment.code_object_storage_type, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
  EXPECT_EQ(segment.code_object_storage_base, gpu.data());
  EXPECT_EQ(segment.code_object_storage_size, gpu.size());
  EXPECT_EQ(segment.code_object_storage_offset, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment.segment_base),
            loaded_info<uint64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE));
  EXPECT_EQ(segment.segment_size,
            loaded_info<uint64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE));
  EXPECT_EQ(of(of_host).agent.handle, targets_.cpu.agent().handle);
  ASSERT_EQ(registry_.executable_destroy(of_gpu), HSA_STATUS_SUCCESS);
  EXPECT_EQ(count_segments(), 1u);
}

TEST_F(LoaderExtension, SegmentQueryRequiresExactSize) {
  const Bytes bytes = host_kernels();
  load_host_kernels(bytes);
  hsa_ven_amd_loader_segment_descriptor_t segments[3];
  size_t zero = 0, one = 1, three = 3;
  EXPECT_EQ(registry_.ven_amd_loader_query_segment_descriptors(segments, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_query_segment_descriptors(segments, &zero),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_query_segment_descriptors(nullptr, &one),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_query_segment_descriptors(segments, &three),
            HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
}

TEST_F(LoaderExtension, LoadedCodeObjectHasAllAttributes) {
  const Bytes bytes = gpu_kernels();
  hsa_loaded_code_object_t loaded{};
  const hsa_executable_t executable = load_gpu_kernels(bytes, &loaded);
  EXPECT_EQ(
      loaded_info<hsa_executable_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE).handle,
      executable.handle);
  EXPECT_EQ(loaded_info<uint32_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND),
            uint32_t{HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT});
  EXPECT_EQ(loaded_info<hsa_agent_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT).handle,
            targets_.gpu.agent().handle);
  EXPECT_EQ(
      loaded_info<uint32_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE),
      uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY});
  EXPECT_EQ(loaded_info<uint64_t>(loaded,
                                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE),
            reinterpret_cast<uintptr_t>(bytes.data()));
  EXPECT_EQ(loaded_info<uint64_t>(loaded,
                                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE),
            bytes.size());
  // The seed is linked for address 0, so its load address is the difference.
  EXPECT_EQ(static_cast<uint64_t>(
                loaded_info<int64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA)),
            loaded_info<uint64_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE));
  EXPECT_EQ(uri_of(loaded), memory_uri(std::as_bytes(std::span(bytes))));
  uint64_t value = 0;
  EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE, &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                loaded, static_cast<hsa_ven_amd_loader_loaded_code_object_info_t>(13), &value),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(LoaderExtension, ProgramCodeObjectHasNoAgent) {
  const Bytes program = program_variables();
  const hsa_executable_t executable = make_executable();
  hsa_loaded_code_object_t loaded{};
  ASSERT_EQ(registry_.executable_load_program_code_object(executable, reader_for(program), nullptr, &loaded),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded_info<uint32_t>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND),
            uint32_t{HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_PROGRAM});
  hsa_agent_t agent{};
  EXPECT_EQ(registry_.ven_amd_loader_loaded_code_object_get_info(
                loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &agent),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(LoaderExtension, KeepsFileBytesWhileReaderLives) {
  const int file = ::open(RIGEL_CODE_OBJECTS "/gfx1030_v4", O_RDONLY);
  ASSERT_GE(file, 0);
  hsa_code_object_reader_t reader{};
  ASSERT_EQ(registry_.code_object_reader_create_from_file(file, &reader), HSA_STATUS_SUCCESS);
  const hsa_executable_t executable = make_executable();
  registry_.executable_agent_global_variable_define(executable, targets_.gpu.agent(), "outside",
                                                    &external_variable_of_test);
  hsa_loaded_code_object_t loaded{};
  ASSERT_EQ(
      registry_.executable_load_agent_code_object(executable, targets_.gpu.agent(), reader, nullptr, &loaded),
      HSA_STATUS_SUCCESS);
  constexpr auto kType = HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE;
  constexpr auto kBase = HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE;
  EXPECT_EQ(loaded_info<uint32_t>(loaded, kType),
            uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY});
  EXPECT_EQ(*reinterpret_cast<const char*>(loaded_info<uint64_t>(loaded, kBase)), '\x7f');
  EXPECT_EQ(loaded_info<int>(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE),
            file);
  EXPECT_THAT(uri_of(loaded), ::testing::MatchesRegex("file:///.*/code_object_fuzz/gfx1030_v4"));
  ASSERT_EQ(registry_.code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded_info<uint32_t>(loaded, kType), uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE});
  EXPECT_EQ(loaded_info<uint64_t>(loaded, kBase), 0u);
  ::close(file);
}

TEST_F(LoaderExtension, IteratesLoadedCodeObjectsAndExecutables) {
  const Bytes bytes = host_kernels();
  const hsa_executable_t executable = load_host_kernels(bytes);
  ASSERT_EQ(define_external(executable, targets_.other_cpu), HSA_STATUS_SUCCESS);
  ASSERT_EQ(load(executable, targets_.other_cpu, bytes), HSA_STATUS_SUCCESS);
  make_executable();
  int objects = 0;
  const auto count_objects = [](hsa_executable_t, hsa_loaded_code_object_t loaded, void* data) {
    EXPECT_NE(loaded.handle, 0u);
    ++*static_cast<int*>(data);
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(
      registry_.ven_amd_loader_executable_iterate_loaded_code_objects(executable, count_objects, &objects),
      HSA_STATUS_SUCCESS);
  EXPECT_EQ(objects, 2);
  EXPECT_EQ(registry_.ven_amd_loader_executable_iterate_loaded_code_objects(executable, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(registry_.ven_amd_loader_executable_iterate_loaded_code_objects({3}, count_objects, &objects),
            HSA_STATUS_ERROR_INVALID_EXECUTABLE);

  int executables = 0;
  const auto count_executables = [](hsa_executable_t, void* data) {
    ++*static_cast<int*>(data);
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(registry_.ven_amd_loader_iterate_executables(count_executables, &executables),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(executables, 2);
  EXPECT_EQ(registry_.ven_amd_loader_iterate_executables(nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const auto stop = [](hsa_executable_t, void*) { return HSA_STATUS_INFO_BREAK; };
  EXPECT_EQ(registry_.ven_amd_loader_iterate_executables(stop, nullptr), HSA_STATUS_INFO_BREAK);
}

TEST_F(LoaderExtension, IterationSurvivesDestructionInCallback) {
  const hsa_executable_t executables[] = {make_executable(), make_executable(), make_executable()};
  struct Visit {
    ExecutableRegistry* registry;
    const hsa_executable_t* executables;
    int calls;
  } visit{&registry_, executables, 0};
  const auto destroy_all = [](hsa_executable_t, void* data) {
    auto* to = static_cast<Visit*>(data);
    ++to->calls;
    for (int i = 0; i < 3; ++i) to->registry->executable_destroy(to->executables[i]);
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(registry_.ven_amd_loader_iterate_executables(destroy_all, &visit), HSA_STATUS_SUCCESS);
  EXPECT_EQ(visit.calls, 1);
}

// --- Debuggers ---------------------------------------------------------------------------------------------

std::vector<const link_map*> debug_list() {
  std::vector<const link_map*> entries;
  const link_map* previous = nullptr;
  for (const link_map* entry = _amdgpu_r_debug.map; entry != nullptr; entry = entry->l_next) {
    EXPECT_EQ(entry->l_prev, previous);
    previous = entry;
    entries.push_back(entry);
  }
  return entries;
}

TEST_F(LoaderExtension, AddsFrozenCodeToDebuggersList) {
  EXPECT_EQ(_amdgpu_r_debug.version, 11);
  EXPECT_NE(_amdgpu_r_debug.breakpoint, nullptr);
  EXPECT_EQ(_amdgpu_r_debug.state, r_debug::RT_CONSISTENT);
  EXPECT_TRUE(debug_list().empty());
  const Bytes host = host_kernels();
  const Bytes gpu = gpu_kernels();
  const hsa_executable_t of_host = load_host_kernels(host);
  EXPECT_TRUE(debug_list().empty()) << "not before it is frozen";
  ASSERT_EQ(freeze(of_host), HSA_STATUS_SUCCESS);
  hsa_loaded_code_object_t loaded{};
  const hsa_executable_t of_gpu = load_gpu_kernels(gpu, &loaded);
  auto entries = debug_list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1]->l_name, uri_of(loaded));
  EXPECT_EQ(entries[1]->l_addr, static_cast<uint64_t>(loaded_info<int64_t>(
                                    loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA)));
  ASSERT_EQ(registry_.executable_destroy(of_host), HSA_STATUS_SUCCESS);
  entries = debug_list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]->l_name, uri_of(loaded));
  ASSERT_EQ(registry_.executable_destroy(of_gpu), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(debug_list().empty());
  EXPECT_EQ(_amdgpu_r_debug.state, r_debug::RT_CONSISTENT);
}

}  // namespace
}  // namespace rigel
