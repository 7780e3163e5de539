#include "core/memory/kfd_svm.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"

namespace rigel {
namespace {

constexpr uint64_t kMaxGranularity = 18;

struct Pages {
  uint64_t start = 0;
  uint64_t size = 0;  // bytes
};

std::optional<Pages> pages_of(const void* ptr, size_t size) {
  const auto start = reinterpret_cast<uint64_t>(ptr);
  // A process has at most half of the address space, so the additions below cannot overflow.
  if (ptr == nullptr || size == 0 || size > PTRDIFF_MAX || start > PTRDIFF_MAX) return std::nullopt;
  const uint64_t first = page_down(start);
  return Pages{first, page_up(start + size) - first};
}

// Returns the driver's flag of a one-bit attribute.
uint32_t flag_of(uint64_t attribute) {
  switch (attribute) {
    case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      return KFD_SVM_FLAG_GPU_RO;
    case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      return KFD_SVM_FLAG_HIVE_LOCAL;
    case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
      return KFD_SVM_FLAG_GPU_READ_MOSTLY;
    case HSA_AMD_SVM_ATTRIB_GPU_EXEC:
      return KFD_SVM_FLAG_GPU_EXEC;
    default:
      return 0;
  }
}

Failure unknown(const char* what, uint64_t attribute, uint64_t value) {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "SVM attribute {:#x}: cannot be {}: {:#x}", attribute, what,
              value);
}

}  // namespace

std::unique_ptr<KfdSvm> KfdSvm::create(const KfdAgents& gpus, const AgentDirectory& agents) {
  const auto& all = gpus.kfd().gpus();
  const auto takes_part = [](const KfdGpu* gpu) { return gpu->has_svm; };
  if (std::none_of(all.begin(), all.end(), takes_part)) return nullptr;
  std::unique_ptr<KfdSvm> svm(new KfdSvm(gpus, agents));
  svm->complete_ = std::all_of(all.begin(), all.end(), takes_part);
  return svm;
}

/// Returns the driver's location for memory at an agent; 0 is any.
Result<uint32_t> KfdSvm::location_of(uint64_t agent) const {
  if (agent == 0) return KFD_SVM_LOCATION_UNDEFINED;
  const auto* entry = agents_.find(hsa_agent_t{agent});
  if (entry != nullptr && entry->facts.type == HSA_DEVICE_TYPE_CPU) return KFD_SVM_LOCATION_SYSMEM;
  const KfdGpu* gpu = entry == nullptr ? nullptr : gpus_.gpu_of(entry->index);
  if (gpu != nullptr) return gpu->gpu_id;
  return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: does not support shared virtual memory", agent);
}

uint64_t KfdSvm::agent_at(uint32_t location) const {
  if (location == KFD_SVM_LOCATION_UNDEFINED) return 0;
  for (size_t i = 0; i < agents_.size(); ++i) {
    const bool host = agents_[i].type == HSA_DEVICE_TYPE_CPU;
    const KfdGpu* gpu = gpus_.gpu_of(i);
    if (location == KFD_SVM_LOCATION_SYSMEM ? host : gpu != nullptr && gpu->gpu_id == location) {
      return agents_[i].handle.handle;
    }
  }
  return 0;
}

Status KfdSvm::attributes_set(void* ptr, size_t size, const hsa_amd_svm_attribute_pair_t* list,
                              size_t count) const {
  const auto pages = pages_of(ptr, size);
  if (!pages || (list == nullptr && count != 0)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (count == 0) return HSA_STATUS_SUCCESS;
  std::vector<kfd_svm_attribute> wanted;
  uint32_t set = 0, clear = 0;
  std::set<uint64_t> seen, agents_seen;
  for (size_t i = 0; i < count; ++i) {
    const auto& [attribute, value] = list[i];
    const bool access =
        attribute >= HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE && attribute <= HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS;
    switch (attribute) {
      case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
        if (value > HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED) return unknown("set to this", attribute, value);
        (value == HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED ? set : clear) |= KFD_SVM_FLAG_COHERENT;
        break;
      case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
      case HSA_AMD_SVM_ATTRIB_GPU_EXEC:
        (value != 0 ? set : clear) |= flag_of(attribute);
        break;
      case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
        wanted.push_back({KFD_SVM_ATTR_GRANULARITY, static_cast<uint32_t>(std::min(value, kMaxGranularity))});
        break;
      case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION: {
        const auto location = location_of(value);
        if (!location) return location.error();
        wanted.push_back({KFD_SVM_ATTR_PREFERRED_LOC, *location});
        break;
      }
      case HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE:
      case HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE:
      case HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS: {
        const auto location = value == 0 ? error(HSA_STATUS_ERROR_INVALID_AGENT) : location_of(value);
        if (!location) return location.error();
        if (*location == KFD_SVM_LOCATION_SYSMEM) {
          (attribute == HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS ? clear : set) |= KFD_SVM_FLAG_HOST_ACCESS;
        } else {
          const uint32_t types[] = {KFD_SVM_ATTR_ACCESS, KFD_SVM_ATTR_ACCESS_IN_PLACE,
                                    KFD_SVM_ATTR_NO_ACCESS};
          wanted.push_back({types[attribute - HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE], *location});
        }
        break;
      }
      default:
        return unknown("set", attribute, value);
    }
    if (!(access ? agents_seen.insert(value) : seen.insert(attribute)).second) {
      return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                  "SVM attribute {:#x}: it or agent {:#x} is listed twice", attribute, value);
    }
  }
  // two CPU agents that contradict each other
  if ((set & clear) != 0) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  if (set != 0) wanted.push_back({KFD_SVM_ATTR_SET_FLAGS, set});
  if (clear != 0) wanted.push_back({KFD_SVM_ATTR_CLR_FLAGS, clear});
  return gpus_.kfd().svm_set(pages->start, pages->size, wanted);
}

Status KfdSvm::attributes_get(void* ptr, size_t size, hsa_amd_svm_attribute_pair_t* list,
                              size_t count) const {
  const auto pages = pages_of(ptr, size);
  if (!pages || (list == nullptr && count != 0)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (count == 0) return HSA_STATUS_SUCCESS;  // HIP requests no attributes of memory that is not shared
  // Always requests the flags, then the other attributes in the order of the list.
  std::vector<kfd_svm_attribute> asked{{KFD_SVM_ATTR_SET_FLAGS, 0}, {KFD_SVM_ATTR_CLR_FLAGS, 0}};
  std::vector<size_t> answers(count);  // index in `asked`; 0: in the flags
  for (size_t i = 0; i < count; ++i) {
    const auto& [attribute, value] = list[i];
    kfd_svm_attribute question{};
    switch (attribute) {
      case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
      case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
        continue;
      case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
        question.type = KFD_SVM_ATTR_GRANULARITY;
        break;
      case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
        question.type = KFD_SVM_ATTR_PREFERRED_LOC;
        break;
      case HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION:
        question.type = KFD_SVM_ATTR_PREFETCH_LOC;
        break;
      case HSA_AMD_SVM_ATTRIB_ACCESS_QUERY: {
        const auto location = value == 0 ? error(HSA_STATUS_ERROR_INVALID_AGENT) : location_of(value);
        if (!location) return location.error();
        if (*location == KFD_SVM_LOCATION_SYSMEM) continue;
        question = {KFD_SVM_ATTR_ACCESS, *location};
        break;
      }
      default:
        return unknown("read", attribute, value);
    }
    // Requests each attribute once, for a list of any length: the driver limits the size of a request.
    const auto known = std::find_if(asked.begin(), asked.end(), [&](const kfd_svm_attribute& earlier) {
      return earlier.type == question.type && earlier.value == question.value;
    });
    answers[i] = static_cast<size_t>(known - asked.begin());
    if (known == asked.end()) asked.push_back(question);
  }
  const Status status = gpus_.kfd().svm_get(pages->start, pages->size, asked);
  if (status != HSA_STATUS_SUCCESS) return status;

  const uint32_t everywhere = asked[0].value, nowhere = asked[1].value;
  for (size_t i = 0; i < count; ++i) {
    auto& [attribute, value] = list[i];
    const kfd_svm_attribute& answer = asked[answers[i]];
    switch (attribute) {
      case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
        value = (everywhere & KFD_SVM_FLAG_COHERENT) != 0 ? HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED
                : (nowhere & KFD_SVM_FLAG_COHERENT) != 0  ? HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED
                                                          : HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE;
        break;
      case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
        value = (everywhere & flag_of(attribute)) != 0;
        break;
      case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
        value = answer.value;
        break;
      case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
      case HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION:
        value = agent_at(answer.value);
        break;
      default:  // agents with access
        if (answers[i] == 0) {
          attribute = (everywhere & KFD_SVM_FLAG_HOST_ACCESS) != 0 ? HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE
                                                                   : HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS;
        } else {
          attribute = answer.type == KFD_SVM_ATTR_ACCESS_IN_PLACE
                          ? HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE
                      : answer.type == KFD_SVM_ATTR_ACCESS ? HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE
                                                           : HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS;
        }
        break;
    }
  }
  return HSA_STATUS_SUCCESS;
}

// Prefetching --------------------------------------------------------------------------------------------

// A prefetch that runs or waits for signals. Deletes itself.
class KfdSvm::Prefetch final : public PendingOperation {
 public:
  Prefetch(KfdSvm& svm, const Pages& pages, uint32_t location, std::vector<Signal*> dependencies,
           Signal* completion)
      : PendingOperation(std::move(dependencies)),
        svm_(svm),
        pages_(pages),
        location_(location),
        completion_(completion) {}

 private:
  void ready(Status status) noexcept override {
    if (status == HSA_STATUS_SUCCESS) status = prefetch();
    if (status != HSA_STATUS_SUCCESS) {
      log_message(LogLevel::kInfo, LogTopic::kMemory,
                  "SVM prefetch: it or an operation that it depends on failed with status {:#x}",
                  static_cast<unsigned>(status));
    }
    completion_.complete(status);
    delete this;
  }

  Status prefetch() const noexcept try {
    const kfd_svm_attribute where{KFD_SVM_ATTR_PREFETCH_LOC, location_};
    return svm_.gpus_.kfd().svm_set(pages_.start, pages_.size, {&where, 1});
  } catch (const std::bad_alloc&) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }

  KfdSvm& svm_;
  const Pages pages_;
  const uint32_t location_;
  const Completion completion_;
};

KfdSvm::~KfdSvm() = default;

Status KfdSvm::prefetch_async(void* ptr, size_t size, hsa_agent_t agent, uint32_t num_dep_signals,
                              const hsa_signal_t* dep_signals, hsa_signal_t completion_signal) {
  const auto pages = pages_of(ptr, size);
  if (!pages || (num_dep_signals != 0 && dep_signals == nullptr)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto location = agent.handle == 0 ? error(HSA_STATUS_ERROR_INVALID_AGENT) : location_of(agent.handle);
  if (!location) return location.error();
  std::vector<Signal*> dependencies;
  for (uint32_t i = 0; i < num_dep_signals; ++i) {
    dependencies.push_back(find_user_signal(dep_signals[i]));
    if (dependencies.back() == nullptr) {
      return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "dependency signal {} of a prefetch: invalid handle", i);
    }
  }
  Signal* const completion = completion_signal.handle == 0 ? nullptr : find_user_signal(completion_signal);
  if (completion == nullptr && completion_signal.handle != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "completion signal {:#x} of a prefetch: invalid handle",
                completion_signal.handle);
  }
  return pending_.post(
      std::make_unique<Prefetch>(*this, *pages, *location, std::move(dependencies), completion));
}

}  // namespace rigel
