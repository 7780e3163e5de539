#include "core/runtime/discovery.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "api/support/backend_report.hpp"
#include "api/support/clock.hpp"
#include "api/support/fence.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "core/topology/agent_directory.hpp"
#include "core/topology/host_nodes.hpp"
#include "loader/code_object/target_id.hpp"

namespace rigel {
namespace {

std::string subject_of(const Node& node) {
  switch (node.bus) {
    case HSABE_BUS_CPU:
      return fmt::format("cpu node {} ({})", node.node_id, node.name);
    case HSABE_BUS_KFD:
      return fmt::format("kfd node {} ({})", node.node_id, node.name);
    default:
      return fmt::format("device {} ({})", node.node_id, node.name);
  }
}

// The driver reads the GPU's clock before the system's.
std::function<bool(ClockReading&)> clock_reader(const Kfd& kfd, const KfdGpu& gpu) {
  return [&kfd, &gpu](ClockReading& reading) {
    reading.earliest_ns = system_time_ns();
    const auto clocks = kfd.clocks(&gpu);
    if (!clocks) return false;
    reading.ticks = clocks->gpu_clock_counter;
    reading.latest_ns = clocks->system_clock_counter;
    return true;
  };
}

// Calls a backend. An exception counts as a failure of the call, except std::bad_alloc, which is rethrown.
template <class Call>
hsabe_status_t guarded(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    backend_report::keep(fmt::format("threw an exception: {}", problem.what()));
  } catch (...) {
    backend_report::keep("threw an exception");
  }
  return HSA_STATUS_ERROR;
}

// Returns the message of a failed call into a backend, with the backend's explanation if it gave one.
std::string explain(std::string_view what, hsabe_status_t status) {
  const std::string report = backend_report::take();
  return fmt::format("{}() failed with status {:#x}{}{}", what, static_cast<uint32_t>(status),
                     report.empty() ? "" : ": ", report);
}

// Fills in properties from the topology that the backend need not report.
void complete(Capabilities& capabilities, const KfdNode& node) {
  hsabe_caps_t& caps = capabilities.caps;
  for (const KfdBank& bank : node.banks) {
    if (bank.heap == KfdBank::kSystem) continue;
    if (caps.memory_width_bits == 0) caps.memory_width_bits = bank.width_bits;
    if (caps.memory_max_clock_mhz == 0) caps.memory_max_clock_mhz = bank.max_clock_mhz;
  }
  if (!capabilities.caches.empty()) return;
  static constexpr std::string_view kNames[] = {"L0", "L1", "L2", "L3", "L4"};
  for (const KfdCache& cache : node.caches) {
    if (cache.level == 0 || cache.level >= std::size(kNames)) continue;
    const std::string_view name = kNames[cache.level];
    capabilities.caches.push_back(
        {sizeof(hsabe_cache_t), {name.data(), name.size()}, cache.level, 0, cache.size});
  }
}

// Node numbers of a backend's own devices start here; those of the topology are lower.
constexpr uint32_t kFirstOwnNode = 1u << 31;

// Connects a device that only its backend finds, which is a separate node, with hosts that can access its
// memory, in both directions. Access to other devices is unknown.
void connect_with_hosts(AgentDirectory& agents, uint32_t node) {
  const LinkFacts link{.hops = 1, .info = {}};
  agents.hosts().for_each([&](size_t index) {
    agents.add_link(node, agents[index].node, link);
    agents.add_link(agents[index].node, node, link);
  });
}

LinkFacts facts_of(const KfdLink& link) {
  const uint32_t flags = link.flags & KfdLink::kFlagsValid ? link.flags : 0;
  LinkFacts facts{.hops = 1, .info = {}};
  facts.info.min_latency = link.min_latency;
  facts.info.max_latency = link.max_latency;
  facts.info.min_bandwidth = link.min_bandwidth;
  facts.info.max_bandwidth = link.max_bandwidth;
  facts.info.atomic_support_32bit = (flags & KfdLink::kNo32BitAtomics) == 0;
  facts.info.atomic_support_64bit = (flags & KfdLink::kNo64BitAtomics) == 0;
  facts.info.coherent_support = (flags & KfdLink::kNotCoherent) == 0;
  facts.info.link_type =
      link.type == KfdLink::kXgmi ? HSA_AMD_LINK_INFO_TYPE_XGMI : HSA_AMD_LINK_INFO_TYPE_PCIE;
  facts.info.numa_distance = link.weight;
  return facts;
}

}  // namespace

Status Discovery::run() {
  foundation_.backends.discover(foundation_.loader_environment, foundation_.config, foundation_.report);
  find_host_nodes();
  if (const Status status = find_gpus(); status != HSA_STATUS_SUCCESS) return status;
  find_own_devices();
  if (const Status status = foundation_.backends.conclude(foundation_.report); status != HSA_STATUS_SUCCESS)
    return status;
  list_agents();
  if (!machine_.agents().empty()) return HSA_STATUS_SUCCESS;
  // Programs expect an agent after hsa_init, as with ROCr, and crash without one.
  std::string why = "no backend opened a device";
  if (foundation_.backends.backends().empty()) {
    const auto lines = foundation_.report.lines();
    const auto left_out = std::find_if(lines.begin(), lines.end(),
                                       [](const auto& line) { return line.stage == Stage::kPermitted; });
    why = left_out == lines.end()
              ? fmt::format("no backend was found (the manifests belong in {})",
                            foundation_.loader_environment.manifest_folder)
              : fmt::format("no backend is permitted ({}: {})", left_out->subject, left_out->text);
  }
  foundation_.report.add(Stage::kDevice, Outcome::kFailed, "hsa_init",
                         fmt::format("there is no agent: {}; set HSA_LOADER_DEBUG=all to log each step", why),
                         LogLevel::kError);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

void Discovery::list_agents() {
  AgentDirectory& directory = machine_.directory();
  for (const Agent& agent : machine_.agents()) {
    AgentFacts facts{agent.handle(), static_cast<hsa_device_type_t>(agent.caps().device_type),
                     agent.node().node_id, 0};
    if (agent.node().bus == HSABE_BUS_KFD) {
      facts.hive = foundation_.gpus->find_node(facts.node)->property("hive_id");
      foundation_.gpus->agents().add(directory.size(), *foundation_.gpus->kfd().gpu_of_node(facts.node));
    } else if (agent.node().bus == HSABE_BUS_OWN) {
      facts.node = kFirstOwnNode + static_cast<uint32_t>(directory.size());
      connect_with_hosts(directory, facts.node);
    }
    directory.add(facts);
  }
  if (foundation_.gpus == nullptr) return;
  for (const KfdNode& node : foundation_.gpus->topology().nodes) {
    // The reverse link may be missing: the host, or a peer, cannot always access all of a GPU's memory.
    for (const KfdLink& link : node.links) directory.add_link(link.from, link.to, facts_of(link));
  }
}

void Discovery::find_host_nodes() {
  for (const Node& node : read_host_nodes()) add_device(node);
}

Status Discovery::find_gpus() {
  auto gpus = Gpus::open(foundation_.config, foundation_.loader_environment, foundation_.report);
  if (!gpus) return gpus.error();
  foundation_.gpus = std::move(*gpus);
  if (foundation_.gpus == nullptr) return HSA_STATUS_SUCCESS;
  for (const Node& node : foundation_.gpus->visible_nodes(foundation_.report)) {
    const std::string subject = subject_of(node);
    const NodeView view(node);
    foundation_.report.add(Stage::kNode, Outcome::kOk, subject, "found");
    bool open = false;
    for (const Backend* backend : foundation_.backends.candidates(*view.get(), subject, foundation_.report)) {
      const auto loaded = foundation_.backends.open(*backend, foundation_.report);
      open = loaded && open_gpu(node, *backend, **loaded);
      if (open) break;
    }
    if (!open)
      foundation_.report.add(Stage::kDevice, Outcome::kFailed, subject, "not used: no backend opened it");
  }
  foundation_.gpus->settings().conclude(foundation_.gpus->kfd().gpus().size(), foundation_.report);
  // Closes the driver if none of its GPUs is used.
  if (foundation_.gpus->kfd().gpus().empty()) foundation_.gpus.reset();
  begin_gpus();
  return HSA_STATUS_SUCCESS;
}

void Discovery::begin_gpus() {
  if (foundation_.gpus == nullptr) return;
  Foundation& target = foundation_;
  KfdEvents::Callbacks callbacks{
      .signalled = {},
      .exception_signalled = {},
      .memory_fault = [&target](const kfd_memory_exception& fault) { target.memory_fault(fault); },
      .hardware_failed = [&target](const kfd_hw_exception& failure) { target.hardware_failed(failure); }};
  if (foundation_.gpus->begin(std::move(callbacks)) == HSA_STATUS_SUCCESS) return;
  // GPUs are unusable without events and accessible signals.
  foundation_.report.add(Stage::kDevice, Outcome::kFailed, "amdkfd",
                         "events are not available; its GPUs are not used");
  while (!machine_.agents().empty() && machine_.agents().back().node().bus == HSABE_BUS_KFD)
    machine_.drop_last_agent();
  foundation_.gpus.reset();
}

// The driver's GPU must be added before the device is opened, and is removed if opening fails.
bool Discovery::open_gpu(const Node& node, const Backend& backend, const LoadedBackend& loaded) {
  std::string why;
  const auto gpu = foundation_.gpus->kfd().add_gpu(*foundation_.gpus->find_node(node.node_id), why);
  if (!gpu) {
    foundation_.report.add(Stage::kDevice, Outcome::kFailed, subject_of(node), why);
    return false;
  }
  if (open_device(node, backend, loaded, *gpu)) return true;
  foundation_.gpus->kfd().drop_last_gpu();
  return false;
}

void Discovery::find_own_devices() {
  for (const Backend* backend : foundation_.backends.enumerators()) {
    const auto loaded = foundation_.backends.open(*backend, foundation_.report);
    if (!loaded || (*loaded)->device.enumerate == nullptr) continue;
    struct Found {
      std::vector<Node> nodes;
      ExceptionCarrier carrier;
    } found;
    const hsabe_node_sink_t sink{&found, [](void* self, const hsabe_node_t* node) {
                                   auto& own = *static_cast<Found*>(self);
                                   own.carrier.run([&own, node] {
                                     own.nodes.push_back(copy_node(*node));
                                     own.nodes.back().bus = HSABE_BUS_OWN;
                                   });
                                 }};
    foundation_.host_services.emplace_back(foundation_, backend->manifest.name, backend->options, 0);
    const hsabe_status_t status =
        guarded([&] { return (*loaded)->device.enumerate(foundation_.host_services.back().host(), &sink); });
    found.carrier.rethrow();
    if (status != HSA_STATUS_SUCCESS) {
      foundation_.report.add(Stage::kNode, Outcome::kFailed, backend->manifest.name,
                             explain("enumerate", status));
      continue;
    }
    foundation_.report.add(Stage::kNode, Outcome::kOk, backend->manifest.name,
                           fmt::format("found {} devices", found.nodes.size()));
    for (const Node& node : found.nodes) open_device(node, *backend, **loaded);
  }
}

void Discovery::add_device(const Node& node) {
  const std::string subject = subject_of(node);
  const NodeView view(node);
  foundation_.report.add(Stage::kNode, Outcome::kOk, subject, "found");
  for (const Backend* backend : foundation_.backends.candidates(*view.get(), subject, foundation_.report)) {
    const auto loaded = foundation_.backends.open(*backend, foundation_.report);
    if (loaded && open_device(node, *backend, **loaded)) return;
  }
  foundation_.report.add(Stage::kDevice, Outcome::kFailed, subject, "not used: no backend opened it");
}

// Returns the backend's ISA, followed by the generic target's if a caller needs it.
std::vector<const Isa*> Discovery::isas_of(const Capabilities& can) {
  std::vector<const Isa*> isas;
  const auto add = [&](std::string name) {
    const Isa* const isa = machine_.intern_isa(std::move(name), can.caps);
    if (std::find(isas.begin(), isas.end(), isa) == isas.end()) isas.push_back(isa);
  };
  for (const auto name : can.isa_names) add(std::string(name));
  if (isas.empty() || !has_openmp_that_reads_all_isas()) return isas;
  const auto own = parse_isa_name(isas.front()->name());
  if (const auto generic = own ? generic_of(*own) : std::nullopt)
    add(std::string(kAmdIsaPrefix) + to_string(*generic));
  return isas;
}

bool Discovery::open_device(const Node& node, const Backend& backend, const LoadedBackend& loaded,
                            KfdGpu* gpu) {
  const std::string subject = subject_of(node);
  const std::string& name = backend.manifest.name;
  if (const size_t count = machine_.agents().size(); count == AgentSet::kCapacity) {
    foundation_.report.add(Stage::kDevice, Outcome::kFailed, subject,
                           fmt::format("{}: not used: the maximum of {} agents is reached", name, count));
    return false;
  }
  HostServices& services = foundation_.host_services.emplace_back(
      foundation_, name, backend.options, node.bus == HSABE_BUS_CPU ? node.node_id : 0, gpu);
  const NodeView view(node);
  hsabe_caps_t caps{};
  caps.struct_size = sizeof caps;
  const hsabe_status_t status =
      guarded([&] { return loaded.device.select(services.host(), view.get(), &caps); });
  if (status != HSA_STATUS_SUCCESS) {
    foundation_.report.add(Stage::kSelected, Outcome::kFailed, subject,
                           name + ": " + explain("select", status));
    return false;
  }
  auto capabilities = check_capabilities(loaded, caps);
  if (!capabilities) {
    foundation_.report.add(Stage::kSelected, Outcome::kFailed, subject,
                           fmt::format("{}: {}", name, capabilities.error()));
    return false;
  }
  AgentLimits limits;
  if (gpu != nullptr) {
    complete(*capabilities, *foundation_.gpus->find_node(node.node_id));
    const auto number = static_cast<uint32_t>(foundation_.gpus->kfd().gpus().size() - 1);  // already added
    limits = foundation_.gpus->settings().restrict(
        number, capabilities->caps, loaded.queue.set_cu_mask != nullptr, subject, foundation_.report);
    if (limits.units_at_first) services.set_own_units(limits.units);
  }
  auto isas = isas_of(*capabilities);
  Agent& agent = machine_.add_agent(node, loaded, *services.host(), std::move(*capabilities), std::move(isas),
                                    std::move(limits));
  if (const hsabe_status_t opened = guarded([&] { return hsabe_status_t{agent.open()}; });
      opened != HSA_STATUS_SUCCESS) {
    foundation_.report.add(Stage::kDevice, Outcome::kFailed, subject, name + ": " + explain("open", opened));
    machine_.drop_last_agent();
    return false;
  }
  if (gpu != nullptr) {
    limit_scratch(agent);
    agent.begin_times(clock_reader(foundation_.gpus->kfd(), *gpu), &foundation_.clocks);
  } else {
    agent.begin_times(nullptr, &foundation_.clocks);
  }
  foundation_.backends.note_device(backend);
  foundation_.report.add(Stage::kDevice, Outcome::kOk, subject,
                         fmt::format("opened by {} {}", loaded.name, loaded.version));
  return true;
}

// Applies HSA_SCRATCH_SINGLE_LIMIT; values above the maximum mean the maximum.
void Discovery::limit_scratch(const Agent& agent) const {
  const auto& wanted = foundation_.gpus->settings().scratch_limit;
  if (!wanted || agent.backend().device.set_scratch_limit == nullptr) return;
  uint64_t most = 0, now = 0;
  agent.scratch_limits(most, now);
  agent.set_scratch_limit(std::min(*wanted, most));
}

}  // namespace rigel
