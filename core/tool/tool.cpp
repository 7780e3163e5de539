#include "core/tool/tool.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "api/support/clock.hpp"
#include "api/support/log.hpp"
#include "core/tool/call_frame.hpp"

namespace rigel {
namespace {

std::string_view view(hsatool_str_t text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

hsatool_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}

LogLevel level_of(uint32_t level) {
  return static_cast<LogLevel>(std::min<uint32_t>(level, HSATOOL_LOG_DEBUG));
}

}  // namespace

const hsatool_services_t Tool::kServices{sizeof kServices, log_enabled,    log,
                                         report,           system_time_ns, CallFrame::current_call};

Explained<void> Tool::load(LoadedTool loaded, const PluginConfig& config, const ToolFunctions& functions) {
  name_ = config.name;
  loaded_ = std::move(loaded);
  intercept_ = config.intercept;
  options_ = config.config;
  failure_.clear();
  self_ = nullptr;
  activities_ = 0;
  host_ = {sizeof host_,        HSATOOL_ABI_MAJOR, HSATOOL_ABI_MINOR,    this,
           &kServices,          str(name_),        str(options_.json()), functions.tables,
           functions.functions, functions.count};
  const InTool in_tool;
  loading_ = true;
  hsatool_status_t status = HSA_STATUS_ERROR;
  try {
    status = loaded_.table.load(&host_, &self_);
  } catch (const std::exception& problem) {
    failure_ = fmt::format("load() threw: {}", problem.what());
    status = HSA_STATUS_ERROR;
  } catch (...) {
    failure_ = "load() threw";
    status = HSA_STATUS_ERROR;
  }
  loading_ = false;
  if (status != HSA_STATUS_SUCCESS) {
    return tl::unexpected(failure_.empty()
                              ? fmt::format("load() failed with status {:#x}", static_cast<uint32_t>(status))
                              : failure_);
  }
  loaded_well_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  if (loaded_.activities.wants != nullptr)
    guarded("activities.wants", [this] { activities_ = loaded_.activities.wants(self_); });
  return {};
}

void Tool::unload() noexcept {
  if (!std::exchange(loaded_well_, false)) return;
  if (is_alive(generation())) generation_.fetch_add(1, std::memory_order_acq_rel);
  KeepTools::wait_for_others();
  if (loaded_.table.unload == nullptr) return;
  log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: unloading", name_);
  const InTool in_tool;
  try {
    loaded_.table.unload(self_);
  } catch (...) {
    log_message(LogLevel::kError, LogTopic::kChain, "tool {}: unload() threw", name_);
  }
}

void Tool::abandon() noexcept {
  loaded_well_ = false;
  if (is_alive(generation())) generation_.fetch_add(1, std::memory_order_acq_rel);
}

void Tool::quarantine(const char* callback) noexcept {
  uint32_t generation = this->generation();
  if (!is_alive(generation) || !generation_.compare_exchange_strong(generation, generation + 1))
    return;  // the first failure is that of another thread
  try {
    throw;
  } catch (const std::exception& problem) {
    log_message(LogLevel::kError, LogTopic::kChain, "tool {}: disabled: {}() threw: {}", name_, callback,
                problem.what());
  } catch (...) {
    log_message(LogLevel::kError, LogTopic::kChain, "tool {}: disabled: {}() threw", name_, callback);
  }
}

bool Tool::wants(const hsatool_function_t& function) noexcept {
  if (!has_calls() || !is_alive(generation())) return false;
  const auto name = view(function.name);
  const auto fits = [&](const std::string& pattern) { return glob_matches(pattern, name); };
  if (!intercept_.empty() && std::none_of(intercept_.begin(), intercept_.end(), fits)) return false;
  if (loaded_.calls.wants == nullptr) return true;
  const InTool in_tool;
  bool wanted = false;
  guarded("calls.wants", [&] { wanted = loaded_.calls.wants(self_, &function) != 0; });
  return wanted;
}

int32_t Tool::log_enabled(void*, uint32_t level) noexcept {
  return rigel::log_enabled(level_of(level), LogTopic::kChain);
}

void Tool::log(void* self, uint32_t level, hsatool_str_t text) noexcept {
  log_message(level_of(level), LogTopic::kChain, "tool {}: {}", static_cast<Tool*>(self)->name_, view(text));
}

void Tool::report(void* self, hsatool_str_t text) noexcept try {
  auto* const tool = static_cast<Tool*>(self);
  if (tool->loading_) {
    tool->failure_ = view(text);
  } else {
    log(self, HSATOOL_LOG_WARN, text);
  }
} catch (...) {
  log_message(LogLevel::kError, LogTopic::kChain, "tool: out of memory for its report");
}

}  // namespace rigel
