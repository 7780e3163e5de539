#include "core/executable/legacy_code_object.hpp"

#include <algorithm>

#include "api/support/mutex.hpp"
#include "api/support/query.hpp"

namespace rigel {
namespace {

// Size of the text of HSA_CODE_OBJECT_INFO_VERSION.
constexpr size_t kVersionBytes = 64;

}  // namespace

LegacyCodeObject::LegacyCodeObject(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {
  auto object = CodeObject::parse(bytes_);
  if (!object) return;
  object_ = std::move(*object);
  for (auto& described : describe_symbols(*object_, HSA_VARIABLE_ALLOCATION_AGENT, true)) {
    symbols_.push_back({std::move(described.facts)});
  }
}

Status LegacyCodeObject::get_info(hsa_code_object_info_t attribute, CodeTargets& targets, void* value) const {
  const CodeIdentity& identity = object_->identity();
  switch (attribute) {
    case HSA_CODE_OBJECT_INFO_VERSION:
      return answer_string(value, fmt::format("{}.0", identity.version), kVersionBytes);
    case HSA_CODE_OBJECT_INFO_TYPE:
      return answer(value, HSA_CODE_OBJECT_TYPE_PROGRAM);
    case HSA_CODE_OBJECT_INFO_ISA: {
      const auto isa = targets.isa_from_name(identity.isa_name);
      if (!isa)
        return fail(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "code object: unknown ISA {}", identity.isa_name);
      return answer(value, *isa);
    }
    case HSA_CODE_OBJECT_INFO_MACHINE_MODEL:
      return answer(value, identity.machine_model.value_or(HSA_MACHINE_MODEL_LARGE));
    case HSA_CODE_OBJECT_INFO_PROFILE:
      return answer(value, identity.profile.value_or(HSA_PROFILE_BASE));
    case HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
      return answer(value, identity.rounding_mode.value_or(HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT));
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown code object attribute {}",
                  static_cast<int>(attribute));
  }
}

const LegacyCodeSymbol* LegacyCodeObject::find_symbol(std::string_view name) const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [name](const LegacyCodeSymbol& symbol) {
    return symbol.facts.full_name() == name;
  });
  return found == symbols_.end() ? nullptr : &*found;
}

void LegacyCodeObject::publish_symbols(const std::shared_ptr<LegacyCodeObject>& self,
                                       HandleTable<LegacyCodeSymbol>& table) {
  for (LegacyCodeSymbol& symbol : self->symbols_) {
    symbol.handle = table.insert(std::shared_ptr<LegacyCodeSymbol>(self, &symbol));
  }
}

void LegacyCodeObject::retire_symbols(HandleTable<LegacyCodeSymbol>& table) {
  for (const LegacyCodeSymbol& symbol : symbols_) table.remove(symbol.handle);
}

void LegacyCodeObjects::insert(std::shared_ptr<LegacyCodeObject> object) {
  const uint64_t handle = object->handle();
  const MutexLock lock(mutex_);
  objects_.emplace(handle, std::move(object));
}

std::shared_ptr<LegacyCodeObject> LegacyCodeObjects::find(uint64_t handle) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(handle);
  return found == objects_.end() ? nullptr : found->second;
}

std::shared_ptr<LegacyCodeObject> LegacyCodeObjects::remove(uint64_t handle) noexcept {
  const MutexLock lock(mutex_);
  const auto node = objects_.extract(handle);
  return node ? std::move(node.mapped()) : nullptr;
}

std::shared_ptr<LegacyCodeObject> LegacyCodeObjects::remove_any() noexcept {
  const MutexLock lock(mutex_);
  return objects_.empty() ? nullptr : std::move(objects_.extract(objects_.begin()).mapped());
}

}  // namespace rigel
