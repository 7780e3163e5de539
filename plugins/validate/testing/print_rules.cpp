// validate_rules [--check] <docs/guide/validate.md>
// Writes the list of rules between the two marks of the document. --check: only compares it.
// validate_rules --tests <file>...
// Checks that each rule has a test that breaks it and a test that keeps it, for example with V101IsBroken and
// V101IsKept in their names.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "plugins/validate/rules.hpp"

namespace {

constexpr std::string_view kBegin = "<!-- rules: written by validate_rules -->\n";
constexpr std::string_view kEnd = "<!-- end of the rules -->\n";

std::string list() {
  std::string out = "\n";
  for (const validate::RuleText& rule : validate::all_rules()) {
    out += "- V" + std::to_string(rule.number) + (rule.usual ? "" : " (on request)") + ": " +
           std::string(rule.sentence) + "\n";
  }
  return out + "\n";
}

std::string read(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int check_tests(int count, char** paths) {
  std::string tests;
  for (int i = 0; i < count; ++i) tests += read(paths[i]);
  int missing = 0;
  for (const validate::RuleText& rule : validate::all_rules()) {
    for (const std::string_view suffix : {"IsBroken", "IsKept"}) {
      const std::string name = "V" + std::to_string(rule.number) + std::string(suffix);
      if (tests.find(name) != std::string::npos) continue;
      std::cerr << name << ": no test has this in its name\n";
      ++missing;
    }
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "--tests") return check_tests(argc - 2, argv + 2);
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: validate_rules [--check] <document>, or --tests <file>...\n";
    return 2;
  }
  const char* const path = argv[argc - 1];
  const std::string text = read(path);
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << path << " has no marks for the list of the rules\n";
    return 1;
  }
  const std::string renewed = text.substr(0, begin + kBegin.size()) + list() + text.substr(end);
  if (!check) {
    std::ofstream(path) << renewed;
  } else if (renewed != text) {
    std::cerr << path << " has another list of rules: renew it by validate_rules " << path << '\n';
    return 1;
  }
  return 0;
}
