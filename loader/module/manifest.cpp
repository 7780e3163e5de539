#include "loader/module/manifest.hpp"

#include <hsa_backend/hsa_backend.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/core.h>

#include "loader/module/module_options_data.hpp"
#include "loader/text/json_reader.hpp"

namespace rigel {
namespace {

constexpr uint32_t kFormatMajor = 1;
constexpr int32_t kDefaultPriority = 100;
constexpr std::array<std::string_view, 3> kBusNames{"cpu", "kfd", "own"};  // index: HSABE_BUS_ - 1

bool is_backend_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  // "disable" and "required" are other members of `backends` in the configuration file.
  return name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) && name != "disable" &&
         name != "required";
}

GfxVersion read_version(ObjectReader& claim, std::string_view key) {
  const std::string text = claim.string(key, ObjectReader::kRequired);
  std::array<uint32_t, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (size_t i = 0; i < parts.size() && good; ++i) {
    if (i != 0) good = at != end && *at++ == '.';
    const auto number = std::from_chars(at, end, parts[i]);
    good = good && number.ec == std::errc{} && parts[i] <= 255;
    at = number.ptr;
  }
  if (!text.empty() && (!good || at != end)) {
    claim.diagnostics().error(claim.at(key),
                              in_quotes(text) + ": invalid target version; use a version such as '9.0.10'");
  }
  return {parts[0], parts[1], parts[2]};
}

void read_claim(ObjectReader claim, std::vector<Claim>& claims) {
  const std::string bus = claim.string("bus", ObjectReader::kRequired);
  const auto known = std::find(kBusNames.begin(), kBusNames.end(), bus);
  if (known == kBusNames.end()) {
    // A later minor version of the format may have more buses; this runtime cannot match them.
    if (!bus.empty()) {
      claim.diagnostics().warning(claim.at("bus"),
                                  "unknown bus " + in_quotes(bus) + suggestion(bus, kBusNames));
    }
    return;
  }
  Claim out{.bus = static_cast<uint32_t>(known - kBusNames.begin()) + 1, .first = {}, .last = {}};
  if (out.bus == HSABE_BUS_KFD) {
    out.first = read_version(claim, "gfx_min");
    out.last = read_version(claim, "gfx_max");
    if (out.last < out.first) claim.diagnostics().error(claim.at("gfx_max"), "less than gfx_min");
  }
  claim.warn_about_unknown_keys();
  claims.push_back(out);
}

}  // namespace

std::string to_string(GfxVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.stepping);
}

std::string_view bus_name(uint32_t bus) {
  return bus >= 1 && bus <= kBusNames.size() ? kBusNames[bus - 1] : "unknown";
}

bool Manifest::claims_bus(uint32_t bus) const {
  return std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) { return claim.bus == bus; });
}

bool Manifest::claims_node(uint32_t bus, GfxVersion version) const {
  return std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
    return claim.bus == bus && (bus != HSABE_BUS_KFD || (claim.first <= version && version <= claim.last));
  });
}

Manifest parse_manifest(std::string_view text, Diagnostics& diagnostics) {
  Manifest manifest;
  const auto document = parse_json(text, diagnostics);
  if (!document) return manifest;

  ObjectReader top(&**document, "", diagnostics);
  check_format_version(top, "manifest_version", kFormatMajor);
  if (diagnostics.has_errors()) return manifest;  // other members are undefined in another format
  top.string("$schema", ObjectReader::kOptional);

  ObjectReader backend = top.object("backend", ObjectReader::kRequired);
  manifest.name = backend.string("name", ObjectReader::kRequired);
  if (!is_backend_name(manifest.name)) {
    diagnostics.error(backend.at("name"), in_quotes(manifest.name) +
                                              ": invalid name; use at most 63 letters, digits, '_', '-' and "
                                              "'.', but not 'disable' or 'required'");
  }
  manifest.library = backend.string("library", ObjectReader::kRequired);

  ObjectReader abi = backend.object("abi", ObjectReader::kRequired);
  manifest.abi_major = static_cast<uint32_t>(abi.integer("major", ObjectReader::kRequired, 0, 0, UINT32_MAX));
  manifest.abi_min_minor =
      static_cast<uint32_t>(abi.integer("min_minor", ObjectReader::kOptional, 0, 0, UINT32_MAX));
  abi.warn_about_unknown_keys();

  manifest.arch = backend.string("arch", ObjectReader::kOptional);
  manifest.priority = static_cast<int32_t>(
      backend.integer("priority", ObjectReader::kOptional, kDefaultPriority, INT32_MIN, INT32_MAX));

  const auto claims = backend.array("claims", ObjectReader::kRequired);
  for (size_t i = 0; i < claims.size(); ++i) {
    read_claim(ObjectReader(&claims[i], fmt::format("{}/{}", backend.at("claims"), i), diagnostics),
               manifest.claims);
  }
  if (manifest.claims.empty() && !diagnostics.has_errors()) {
    diagnostics.error(backend.at("claims"), "claims no device that this runtime supports");
  }

  manifest.disable_environment = backend.string("disable_environment", ObjectReader::kOptional);
  manifest.dependencies = backend.strings("dependencies");
  manifest.build_id = backend.string("build_id", ObjectReader::kOptional);
  manifest.config = read_options(backend, "config");
  backend.warn_about_unknown_keys();
  top.warn_about_unknown_keys();
  return manifest;
}

}  // namespace rigel
