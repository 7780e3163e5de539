#include "plugins/vgpu/check/suppressions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/core.h>

#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu::check {
namespace {

constexpr std::string_view kSpace = " \t\r", kBeforePlace = " at ";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::string problem_of_name(std::string_view name) {
  std::vector<std::string_view> names{"*"};
  for (uint32_t tool = 0; tool < kTools; ++tool) names.push_back(check::name(static_cast<Tool>(tool)));
  for (const ProblemEntry& entry : problems()) names.push_back(entry.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return fmt::format("unknown check {}{}", in_quotes(name), remedy(name, names));
}

// Sets `suppression` to the parts of a line. Returns the problem with the line.
std::string parse_line(std::string_view line, Suppression& suppression) {
  const size_t colon = line.find(':');
  if (colon == line.npos) {
    return fmt::format("invalid suppression {}; use '<check>: <kernel> at <place>'", in_quotes(line));
  }
  suppression.problem = trimmed(line.substr(0, colon));
  if (std::string problem = problem_of_name(suppression.problem); !problem.empty()) return problem;
  const std::string padded = fmt::format("{} ", line.substr(colon + 1));  // a place may be missing at the end
  std::string_view kernel = padded;
  if (const size_t at = kernel.rfind(kBeforePlace); at != kernel.npos) {
    suppression.place = trimmed(kernel.substr(at + kBeforePlace.size()));
    if (suppression.place.empty()) return "the place after 'at' is missing";
    kernel = kernel.substr(0, at);
  }
  suppression.kernel = trimmed(kernel);
  return suppression.kernel.empty() ? "the kernel is missing; use * for all kernels" : "";
}

// Whether the pattern matches the path or its end from a '/' on, each followed by `line`.
bool matches_file(std::string_view pattern, std::string_view path, std::string_view line) {
  if (path.empty()) return false;
  for (;;) {
    if (glob_matches(pattern, fmt::format("{}{}", path, line))) return true;
    const size_t slash = path.find('/');
    if (slash == path.npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool matches_place(std::string_view pattern, const Place& place) {
  if (glob_matches(pattern, place.code)) return true;
  return std::any_of(place.frames.begin(), place.frames.end(), [&](const Frame& frame) {
    return glob_matches(pattern, frame.function) || matches_file(pattern, frame.file, "") ||
           matches_file(pattern, frame.file, fmt::format(":{}", frame.line));
  });
}

Explained<std::string> read_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::string text;
  char part[4096];
  size_t count = 0;
  while (file != nullptr && (count = std::fread(part, 1, sizeof part, file.get())) != 0)
    text.append(part, count);
  if (file == nullptr || std::ferror(file.get()) != 0)
    return tl::unexpected(std::string(std::strerror(errno)));
  return text;
}

}  // namespace

std::string parse_suppressions(std::string_view text, std::string_view file, std::vector<Suppression>& list) {
  std::string wrong;
  for (uint32_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    Suppression suppression;
    suppression.position = fmt::format("{}:{}", file, number);
    suppression.text = line;
    const std::string problem = parse_line(line, suppression);
    if (problem.empty()) {
      list.push_back(std::move(suppression));
    } else {
      wrong += fmt::format("{}{}: {}", wrong.empty() ? "" : "\n", suppression.position, problem);
    }
  }
  return wrong;
}

std::string read_suppressions(std::string_view paths, std::vector<Suppression>& list) {
  std::string wrong;
  for (const std::string_view path : split(paths, ':')) {
    const std::string name(path);
    const auto text = read_file(name);
    const std::string problem =
        text ? parse_suppressions(*text, name, list) : fmt::format("{}: cannot read: {}", name, text.error());
    if (!problem.empty()) wrong += (wrong.empty() ? "" : "\n") + problem;
  }
  return wrong;
}

bool matches(const Suppression& suppression, const Finding& finding) {
  const std::string_view problem = entry_of(finding.kind.problem).name;
  if (suppression.problem != "*" && suppression.problem != problem &&
      suppression.problem != name(finding.kind.tool))
    return false;
  if (!glob_matches(suppression.kernel, finding.kernel)) return false;
  if (suppression.place.empty() || matches_place(suppression.place, finding.place)) return true;
  return std::any_of(finding.others.begin(), finding.others.end(),
                     [&](const Place& other) { return matches_place(suppression.place, other); });
}

std::string suppression_for(const Finding& finding) {
  std::string line = fmt::format("{}: {}", entry_of(finding.kind.problem).name, finding.kernel);
  const std::string source = source_of(finding.place);
  if (!source.empty()) return line + fmt::format(" at {}", source.substr(source.rfind('/') + 1));
  // Offsets change with each build, so a function is named only if it is not the kernel.
  const auto& frames = finding.place.frames;
  if (!frames.empty() && !frames.front().function.empty() && frames.front().function != finding.kernel)
    line += fmt::format(" at {}", frames.front().function);
  return line;
}

}  // namespace rigel::vgpu::check
