// A temporary directory for each test, with a mock installation of a runtime.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

class ScratchWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "rigel-loader-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = std::filesystem::canonical(pattern);
    installed = root / "prefix/share/hsa/backends.d";
    for (const char* folder : {"prefix/lib/hsa/backends", "prefix/share/hsa/backends.d", "etc/backends.d"}) {
      std::filesystem::create_directories(root / folder);
    }
    environment.variable = [this](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    };
    environment.owner = ::geteuid();
    environment.system_folder = root / "etc";
    environment.library_folder = root / "prefix/lib";
    environment.driver_folder = root / "prefix/lib/hsa/drivers";
    environment.backend_folder = root / "prefix/lib/hsa/backends";
    environment.manifest_folder = installed;
  }

  void TearDown() override { std::filesystem::remove_all(root); }

  std::string write(const std::filesystem::path& path, std::string_view text) {
    const auto file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  /// Returns the lines of one outcome as "stage subject: text", with the temporary directory as ~.
  std::vector<std::string> lines(Outcome outcome) const {
    std::vector<std::string> out;
    for (const auto& line : report.lines()) {
      if (line.outcome != outcome) continue;
      std::string text = std::string(name_of(line.stage)) + ' ' + line.subject + ": " + line.text;
      for (size_t at = 0; (at = text.find(root.string())) != text.npos;)
        text.replace(at, root.string().size(), "~");
      out.push_back(std::move(text));
    }
    return out;
  }

  std::vector<std::string> failures() const { return lines(Outcome::kFailed); }
  std::vector<std::string> warnings() const { return lines(Outcome::kWarning); }
  std::vector<std::string> skipped() const { return lines(Outcome::kSkipped); }

  std::filesystem::path root;
  std::filesystem::path installed;
  std::map<std::string, std::string> variables;
  LoaderEnvironment environment;
  DiscoveryReport report;
};

}  // namespace rigel
