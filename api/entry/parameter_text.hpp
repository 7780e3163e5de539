// Parses a list of parameters in the preprocessor's form, "(hsa_agent_t agent, void* value)".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rigel::api {

struct ParameterText {
  std::string name;
  std::string type;         // without the name: "hsa_status_t (*)(hsa_agent_t, void*)"
  std::string declaration;  // the parameter as a struct member
};

inline std::vector<ParameterText> parse_parameters(std::string_view list) {
  std::vector<ParameterText> out;
  list = list.substr(1, list.size() - 2);
  constexpr std::string_view kNameCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  while (!list.empty()) {
    int depth = 0;
    size_t end = 0;
    while (end < list.size() && (list[end] != ',' || depth != 0)) {
      depth += (list[end] == '(') - (list[end] == ')');
      ++end;
    }
    std::string_view one = list.substr(0, end);
    list.remove_prefix(end == list.size() ? end : end + 1);
    one.remove_prefix(one.find_first_not_of(' '));
    // The name is in the first parentheses of a pointer to a function, otherwise at the end.
    const size_t pointer = one.find("(*");
    const size_t name_end = pointer == one.npos ? one.size() : one.find(')', pointer);
    const size_t before = one.find_last_not_of(kNameCharacters, name_end - 1);
    std::string type(one.substr(0, before + 1));
    while (type.ends_with(' ')) type.pop_back();
    type += one.substr(name_end);
    out.push_back(
        {std::string(one.substr(before + 1, name_end - before - 1)), std::move(type), std::string(one)});
  }
  return out;
}

}  // namespace rigel::api
