#include "core/runtime/gpus.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "api/support/environment.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "core/executable/debug_rendezvous.hpp"
#include "core/signal/lent_thread.hpp"
#include "loader/module/loaded_driver.hpp"

namespace rigel {
namespace {

constexpr std::string_view kVersionOfNode = "HSA_OVERRIDE_GFX_VERSION_";  // followed by the number of a node

// Returns the transport that replaces the kernel, named by HSA_DRIVER; `kfd` means the kernel.
Result<std::unique_ptr<Transport>> open_transport(const RuntimeConfig& config,
                                                  const LoaderEnvironment& environment,
                                                  DiscoveryReport& report) {
  RuntimeConfig chosen = config;
  if (const char* name = environment.trusted("HSA_DRIVER"); name != nullptr) {
    if (std::string_view(name) == "kfd") {
      chosen.driver.reset();
    } else if (!chosen.driver || chosen.driver->library != name) {
      chosen.driver = DriverConfig{name, {}};
    }
  }
  if (!chosen.driver) return Transport::system();
  const auto loaded = load_driver(chosen, environment, report);
  if (!loaded) return error(loaded.error());
  std::vector<std::string> why;
  const std::string options(chosen.driver->config.json());
  auto transport = Transport::start(*loaded, options, why);
  if (transport) return transport;
  Status status = transport.error();
  for (const std::string& line : why) {
    const bool of_option = line.starts_with('/');
    if (of_option) status = HSA_STATUS_ERROR_INVALID_FILE;
    report.add(Stage::kDriver, Outcome::kFailed, of_option ? config.path : chosen.driver->library,
               of_option ? "/driver/config" + line : line);
  }
  return error(status);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the version that the driver reports, unless the environment overrides it.
TargetVersion version_of(const KfdNode& node, DiscoveryReport& report) {
  const std::string one = fmt::format("{}{}", kVersionOfNode, node.number);
  for (const char* name : {one.c_str(), "HSA_OVERRIDE_GFX_VERSION"}) {
    const char* text = environment(name);
    if (text == nullptr || *text == '\0') continue;
    if (const auto wanted = parse_target_version(text)) {
      report.add(Stage::kNode, Outcome::kWarning, fmt::format("kfd node {}", node.number),
                 fmt::format("treated as gfx version {} because of {}", text, name));
      return *wanted;
    }
    report.add(Stage::kConfig, Outcome::kWarning, name,
               fmt::format("invalid value '{}'; ignored; use a version such as 9.0.6", text));
    break;
  }
  const auto packed = static_cast<uint32_t>(node.property("gfx_target_version"));
  return {packed / 10000, packed / 100 % 100, packed % 100};
}

// Reports overrides of versions for GPUs that do not exist.
void report_useless_versions(const KfdTopology& topology, DiscoveryReport& report) {
  std::vector<std::string> numbers;
  for (const KfdNode& node : topology.nodes) {
    if (node.is_gpu()) numbers.push_back(std::to_string(node.number));
  }
  for (const char* const* variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view entry = *variable;
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kVersionOfNode) || equals + 1 >= entry.size()) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view number = name.substr(kVersionOfNode.size());
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) continue;
    report.add(Stage::kConfig, Outcome::kWarning, name,
               numbers.empty() ? "ignored because there is no GPU"
                               : fmt::format("no GPU is node {} (GPU nodes: {}); ignored", in_quotes(number),
                                             fmt::join(numbers, ", ")));
  }
}

}  // namespace

std::optional<TargetVersion> parse_target_version(std::string_view text) {
  TargetVersion numbers;
  for (uint32_t* part : {&numbers.major, &numbers.minor, &numbers.stepping}) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), *part);
    if (problem != std::errc{} || end == text.data()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const bool last = part == &numbers.stepping;
    if (last != text.empty()) return std::nullopt;
    if (!last) {
      if (text.front() != '.') return std::nullopt;
      text.remove_prefix(1);
    }
  }
  if (numbers.major > 63 || numbers.minor > 255 || numbers.stepping > 255) return std::nullopt;
  return numbers;
}

std::vector<size_t> parse_visible_devices(std::string_view list, const std::vector<uint64_t>& unique_ids) {
  std::vector<size_t> chosen;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    size_t index = unique_ids.size();
    if (word.substr(0, 4) == "GPU-") {
      for (size_t i = 0; i < unique_ids.size(); ++i) {
        const std::string uuid = fmt::format("GPU-{:016x}", unique_ids[i]);
        if (unique_ids[i] != 0 && word.size() > 4 && uuid.compare(0, word.size(), word) == 0) {
          if (index != unique_ids.size()) return chosen;  // names two GPUs
          index = i;
        }
      }
    } else {
      const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), index);
      if (problem != std::errc{} || end != word.data() + word.size() || word.empty()) return chosen;
    }
    if (index >= unique_ids.size() || std::find(chosen.begin(), chosen.end(), index) != chosen.end()) {
      return chosen;
    }
    chosen.push_back(index);
  }
  return chosen;
}

void Gpus::check_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                        DiscoveryReport& report) {
  if (!config.driver || config.driver->library.empty()) return;  // a missing library has been reported
  // it adds lines to the report, and is closed at once
  static_cast<void>(open_transport(config, environment, report));
}

Result<std::unique_ptr<Gpus>> Gpus::open(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                         DiscoveryReport& report) {
  auto opened = open_transport(config, environment, report);
  if (!opened) return error(opened.error());
  const bool asked_for = !(*opened)->is_system();
  const std::string subject = asked_for ? (*opened)->name() : "/dev/kfd";
  const auto leave = [&](Outcome outcome, std::string_view why) -> Result<std::unique_ptr<Gpus>> {
    // Without /dev/kfd the program uses the other agents. A driver that the user has named is required.
    report.add(Stage::kDriver, outcome, subject, why,
               asked_for || outcome == Outcome::kSkipped ? std::nullopt : std::optional(LogLevel::kWarn));
    if (asked_for) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    return nullptr;
  };
  std::string why;
  auto kfd = Kfd::open(std::move(*opened), why);
  if (!kfd) return leave(why == kNoDriver && !asked_for ? Outcome::kSkipped : Outcome::kFailed, why);
  lend_thread_to_device.store((*kfd)->transport().lend_thread(), std::memory_order_release);
  std::unique_ptr<Gpus> gpus(new Gpus(std::move(*kfd), GpuSettings::read(environment, report)));
  const auto& version = gpus->kfd().version();
  report.add(Stage::kDriver, Outcome::kOk, subject,
             fmt::format("amdkfd interface {}.{}", version.major, version.minor));
  auto topology = read_kfd_topology(gpus->kfd().transport());
  if (!topology) return leave(Outcome::kFailed, "the topology cannot be read");
  gpus->topology_ = std::move(*topology);
  gpus->kfd().enable_runtime(&_amdgpu_r_debug);
  gpus->settle_xnack(report);
  return gpus;
}

// A preference, as in ROCr: if the driver rejects it, the driver's setting remains.
void Gpus::settle_xnack(DiscoveryReport& report) {
  const int problem = settings_.xnack ? kfd_->set_xnack(*settings_.xnack) : 0;
  xnack_ = kfd_->xnack_enabled();
  if (problem == 0 || xnack_ == *settings_.xnack) return;
  report.add(Stage::kConfig, Outcome::kWarning, "HSA_XNACK",
             fmt::format("the driver rejects {} ({}); XNACK stays {}", *settings_.xnack ? 1 : 0,
                         std::strerror(-problem), xnack_ ? "on" : "off"));
}

Gpus::~Gpus() {
  stop_listening();
  signals_.reset();
  events_.reset();
  kfd_->disable_runtime();
  Kfd::give_up(std::move(kfd_));
}

const KfdNode* Gpus::find_node(uint32_t number) const {
  for (const KfdNode& node : topology_.nodes) {
    if (node.number == number) return &node;
  }
  return nullptr;
}

std::vector<Node> Gpus::visible_nodes(DiscoveryReport& report) const {
  std::vector<const KfdNode*> nodes;
  std::vector<uint64_t> unique_ids;
  for (const KfdNode& node : topology_.nodes) {
    if (!node.is_gpu()) continue;
    nodes.push_back(&node);
    unique_ids.push_back(node.property("unique_id"));
  }
  // An empty variable hides all GPUs.
  if (const char* list = environment("ROCR_VISIBLE_DEVICES"); list != nullptr && !nodes.empty()) {
    std::vector<const KfdNode*> chosen;
    for (const size_t index : parse_visible_devices(list, unique_ids)) chosen.push_back(nodes[index]);
    report.add(Stage::kNode, Outcome::kSkipped, "ROCR_VISIBLE_DEVICES",
               fmt::format("'{}' shows {} of {} GPUs", list, chosen.size(), nodes.size()));
    nodes = std::move(chosen);
  }
  report_useless_versions(topology_, report);
  std::vector<Node> result;
  for (const KfdNode* node : nodes) {
    Node facts;
    facts.bus = HSABE_BUS_KFD;
    facts.node_id = node->number;
    facts.name = node->name;
    facts.properties = node->properties;
    facts.properties["gpu_id"] = node->gpu_id;
    facts.properties["xnack_enabled"] = xnack_;
    facts.properties["host_atomics"] = has_atomics_to_host(topology_, *node);
    if (settings_.sramecc) {
      uint64_t& capability = facts.properties["capability"];
      const uint64_t wanted =
          *settings_.sramecc ? capability | KFD_CAP_SRAM_EDC : capability & ~uint64_t{KFD_CAP_SRAM_EDC};
      if (capability != wanted) {
        report.add(Stage::kNode, Outcome::kWarning, fmt::format("kfd node {}", node->number),
                   fmt::format("SRAM ECC is treated as {} because of HSA_ENABLE_SRAMECC",
                               *settings_.sramecc ? "on" : "off"));
      }
      capability = wanted;
    }
    const TargetVersion version = version_of(*node, report);
    facts.gfx_major = version.major;
    facts.gfx_minor = version.minor;
    facts.gfx_stepping = version.stepping;
    result.push_back(std::move(facts));
  }
  return result;
}

Status Gpus::begin(KfdEvents::Callbacks callbacks) {
  callbacks.signalled = DeviceSignals::announce;
  callbacks.exception_signalled = DeviceSignals::announce_exceptions;
  auto events = KfdEvents::create(*kfd_, std::move(callbacks));
  if (!events) return events.error();
  events_ = std::move(*events);
  auto signals = DeviceSignals::begin(*kfd_, events_->usual(), events_->exception());
  if (!signals) return signals.error();
  signals_ = std::move(*signals);
  return HSA_STATUS_SUCCESS;
}

Status Gpus::listen() {
  const MutexLock lock(mutex_);
  shall_listen_ = true;
  return delivers_ ? events_->start() : HSA_STATUS_SUCCESS;
}

Status Gpus::deliver() {
  const MutexLock lock(mutex_);
  delivers_ = true;
  return shall_listen_ ? events_->start() : HSA_STATUS_SUCCESS;
}

}  // namespace rigel
