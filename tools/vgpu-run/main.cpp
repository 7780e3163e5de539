// vgpu-run: runs a program with virtual AMD GPUs.
//
//   vgpu-run --gpu gfx906,gfx1030:vram=4G rocminfo
//
// It checks the options first, so that an error is reported and not a program without GPUs. Then it sets the
// environment of the preload library and the dynamic linker, and executes the program.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/words.hpp"
#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/check/log_file.hpp"
#include "plugins/vgpu/check/sarif.hpp"
#include "plugins/vgpu/cp/packet_fidelity.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/devices/product_names.hpp"
#include "plugins/vgpu/devices/remedy.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/operation_fidelity.hpp"
#include "plugins/vgpu/fidelity/run_fidelity.hpp"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/render_node.hpp"
#include "plugins/vgpu/kfd/settings.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"
#include "plugins/vgpu/profile/profile_options.hpp"
#include "program_file.hpp"
#include "runtime_library.hpp"

namespace {

using namespace rigel::vgpu;
namespace vgpu_run = rigel::vgpu_run;

constexpr const char* kDefaultLink = "pcie";
constexpr int kOutputError = 1;
constexpr int kUsage = 2;
constexpr int kNoProgram = 127;

constexpr const char* kHelp =
    "usage: vgpu-run [options] program [arguments]\n"
    "Runs a program with virtual AMD GPUs, which execute its kernels on the CPU.\n"
    "\n"
    "  --gpu LIST       boards, separated by commas: a name (vega20), a gfx name (gfx906) or the path of a "
    ".json\n"
    "                   file; each with options :vram=SIZE (bytes, or with K, M, G; minimum 16M),\n"
    "                   :bar=large|small; none: no GPUs (default: VGPU_GPUS, else gfx900)\n"
    "  --link KIND      connection between the GPUs: pcie, xgmi, none (default: VGPU_LINK, else pcie)\n"
    "  --log LIST       categories to log, separated by commas: file, ioctl, memory, event, queue, "
    "doorbell,\n"
    "                   fault, aql, pm4, sdma, dispatch, all; none: no errors and warnings either\n"
    "                   (default: VGPU_LOG, else errors and warnings)\n"
    "  --log-file PATH  file for the log (default: VGPU_LOG_FILE, else stderr)\n"
    "  --runtime WHICH  the program's libhsa-runtime64: rigel (installed with vgpu-run), system, or the path "
    "of\n"
    "                   a library or directory (default: VGPU_RUNTIME, else rigel)\n"
    "  --watchdog SECS  stop the program (status 124) if a kernel runs longer than SECS seconds, for example "
    "0.5;\n"
    "                   0: no limit (default: VGPU_WATCHDOG, else 0)\n"
    "  --check[=LIST]   find mistakes of kernels; checks, separated by commas: memory, races, sync, waits, "
    "init, all\n"
    "                   (default: all); the status is 66 if there are errors\n"
    "  --check-output FORMAT\n"
    "                   text; json: an object a line; sarif: for code hosts and editors (default:\n"
    "                   VGPU_CHECK_OUTPUT, else text)\n"
    "  --check-log FILE file for findings (default: VGPU_CHECK_LOG, else the log)\n"
    "  --check-suppressions FILES\n"
    "                   files with findings that are not reported, separated by colons\n"
    "                   (default: VGPU_CHECK_SUPPRESSIONS)\n"
    "  --check-kernel TEXT\n"
    "                   check only kernels whose names contain TEXT (default: VGPU_CHECK_KERNEL, else all)\n"
    "  --check-launch LIST\n"
    "                   check only these launches of each process, for example 3,5-8,10- (default:\n"
    "                   VGPU_CHECK_LAUNCH, else all)\n"
    "  --check-children yes|no\n"
    "                   check processes that the program starts (default: VGPU_CHECK_CHILDREN, else yes)\n"
    "  --check-limit N  findings that are printed (default: VGPU_CHECK_LIMIT, else 100)\n"
    "  --error-exitcode N\n"
    "                   status if there are errors and the program reports success; 0: its own (default:\n"
    "                   VGPU_CHECK_STATUS, else 66)\n"
    "  --padding BYTES  unused memory after each allocation, which no access may touch (default:\n"
    "                   VGPU_CHECK_PADDING, else 4096)\n"
    "  --quarantine BYTES\n"
    "                   freed memory that is not reused yet (default: VGPU_CHECK_QUARANTINE, else 67108864)\n"
    "  --profile[=LIST] count the instructions of kernels; files, separated by commas: *.txt, *.json, "
    "*.callgrind,\n"
    "                   *.info (lcov), *.folded, *.perfetto; - is a table on stderr (default: -)\n"
    "  --profile-against FILE\n"
    "                   compare the counts with a *.json of --profile; the status is 67 if one is larger\n"
    "  --profile-kernel TEXT\n"
    "                   count only kernels whose names contain TEXT (default: VGPU_PROFILE_KERNEL, else "
    "all)\n"
    "  --profile-launch LIST\n"
    "                   count only these launches of each process, for example 3,5-8,10- (default:\n"
    "                   VGPU_PROFILE_LAUNCH, else all)\n"
    "  --profile-queue LIST\n"
    "                   count only launches of these queues, by the driver's numbers (default:\n"
    "                   VGPU_PROFILE_QUEUE, else all)\n"
    "  --profile-memory[=1]\n"
    "                   also count 64-byte lines, LDS bank conflicts and scratch; kernels are interpreted\n"
    "                   (default: VGPU_PROFILE_MEMORY, else 0)\n"
    "  --run-fidelity[=LIST]\n"
    "                   count executed instructions, packets and ioctls by their fidelity; files, separated\n"
    "                   by commas: *.txt, *.json; - is text on stderr (default: -)\n"
    "  --require exact  the status is 68 if an executed instruction or packet is approximate or not "
    "supported\n"
    "                   (default: VGPU_REQUIRE, else no requirement)\n"
    "  --list           list the boards (also --boards)\n"
    "  --env            print the environment variables that have the effect of these options, and run "
    "nothing\n"
    "  --fidelity       print which interfaces of hardware and driver are exact, approximate or absent\n"
    "  --help           print this text (also -h)\n"
    "  --version        print the versions of vgpu-run and of its kernel compiler\n"
    "\n"
    "Examples:\n"
    "  vgpu-run --gpu gfx906,gfx1030:vram=4G rocminfo\n"
    "  vgpu-run --gpu gfx900 --watchdog 60 ./program\n";

void report(const char* severity, std::string_view text) {
  for (const auto line : rigel::split(text, '\n')) {
    std::fprintf(stderr, "vgpu-run: %s: %.*s\n", severity, static_cast<int>(line.size()), line.data());
  }
}

int complain(const std::string& text) {
  report("error", text);
  return kUsage;
}

// Ends a command that prints. Buffered text may still fail to be written, for example to a full disk.
int end_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  complain(std::string("standard output: cannot write: ") + std::strerror(errno));
  return kOutputError;
}

int print(const char* text) {
  std::fputs(text, stdout);
  return end_output();
}

int list_boards() {
  std::vector<BoardOr> boards = boards_in_path();
  for (const std::string_view name : built_in_board_names()) boards.push_back(find_board(name));
  for (const BoardOr& board : boards) {
    if (!board) return complain(board.error());
    const rigel::vgpu::ProductNames* const names = rigel::vgpu::find_product_names(board->name);
    const std::string_view chip = names == nullptr ? std::string_view(board->name) : names->chip;
    std::string products;
    for (const std::string_view product : names == nullptr ? decltype(names->products){} : names->products)
      products.append(products.empty() ? "  (" : ", ").append(product);
    if (!products.empty()) products += ')';
    std::printf("%-10s %-8s %-10.*s %3u compute units  %6llu MiB  %s%s\n", board->name.c_str(),
                board->gfx_name().c_str(), static_cast<int>(chip.size()), chip.data(), board->compute_units(),
                static_cast<unsigned long long>(board->memory.vram_mb), board->marketing_name.c_str(),
                products.c_str());
  }
  return end_output();
}

// `fidelity`: an enumerator with or without kEquivalent.
template <class Fidelity>
const char* word_of(Fidelity fidelity) {
  if constexpr (requires { Fidelity::kEquivalent; }) {
    if (fidelity == Fidelity::kEquivalent) return "equivalent";
  }
  return fidelity == Fidelity::kExact         ? "exact"
         : fidelity == Fidelity::kApproximate ? "approximate"
                                              : "absent";
}

template <class Fidelity>
void print_row(std::string_view set, std::string_view name, Fidelity fidelity, std::string_view note) {
  std::printf("%-6.*s %-34.*s %-12s %.*s\n", static_cast<int>(set.size()), set.data(),
              static_cast<int>(name.size()), name.data(), word_of(fidelity), static_cast<int>(note.size()),
              note.data());
}

int print_fidelity() {
  for (const IoctlEntry& e : kfd_ioctls()) print_row("kfd", e.name, e.faithful, e.note);
  for (const DrmIoctlEntry& e : drm_ioctls()) print_row("drm", e.name, e.faithful, e.note);
  for (const FidelityRow& row : fidelity_rows()) {
    constexpr const char* kSets[] = {"aql", "pm4", "sdma"};
    std::string name(row.packet);
    if (!row.field.empty()) name.append(".").append(row.field);
    const bool has_default_note = row.fidelity == Fidelity::kAbsent && row.note.empty();
    print_row(kSets[static_cast<int>(row.set)], name, row.fidelity,
              has_default_note ? "stops the queue with an error" : row.note);
  }
  constexpr isa::Target kTargets[] = {{8, 0, 3},  {9, 0, 0},  {9, 0, 6},  {9, 0, 8}, {9, 0, 10},
                                      {10, 1, 0}, {10, 3, 0}, {11, 0, 0}, {12, 0, 1}};
  for (const isa::OperationFidelity& row : exec::instruction_fidelity(kTargets))
    print_row("isa", isa::name(row.op), row.fidelity, row.note);
  return end_output();
}

// Finds the libraries relative to this program, in the build tree and when installed: bin/vgpu-run,
// lib/libvgpu_preload.so.
rigel::Explained<std::string> find_libraries() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return tl::unexpected("/proc/self/exe: cannot read: " + error.message());
  const auto folder = self.parent_path().parent_path() / VGPU_LIBDIR;
  if (std::filesystem::exists(folder / "libvgpu_preload.so", error)) return folder.string();
  return tl::unexpected((folder / "libvgpu_preload.so").string() + ": not found; reinstall rigel-vgpu");
}

// Returns the first line of `program --version`, or an empty string if the program cannot be run.
std::string version_of(const std::string& program) {
  std::string output;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return output;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
  std::string name = program, option = "--version";
  char* const arguments[] = {name.data(), option.data(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawn(&child, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  close(pipe_ends[1]);
  char text[256];
  for (ssize_t count; (count = read(pipe_ends[0], text, sizeof text)) > 0;)
    output.append(text, static_cast<size_t>(count));
  close(pipe_ends[0]);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child || status != 0) return {};
  return output.substr(0, output.find('\n'));
}

// Prints the version and that of the kernel compiler's LLVM, or why there is no compiler.
int print_version() {
  std::string text = "vgpu-run " VGPU_VERSION "\n";
  if (const auto libraries = find_libraries()) {
    namespace compiler = exec::compiler;
    auto found = compiler::find_compiler((*libraries + "/libvgpu_preload.so").c_str());
    const std::string version = found.why_none.empty() ? version_of(found.path) : std::string();
    if (found.why_none.empty() && version.empty()) found.why_none = found.path + " cannot be run";
    text +=
        version.empty() ? compiler::kernels_are_interpreted(found.why_none) : "kernel compiler: " + version;
    text += "\n";
  }
  return print(text.c_str());
}

// Returns an absolute path, for children with another working directory. If there is no working directory,
// the path stays relative.
std::string absolute(std::string_view path) {
  std::error_code error;
  const auto absolute_path = std::filesystem::absolute(path, error);
  return error ? std::string(path) : absolute_path.string();
}

std::string absolute_folders(std::string_view list) {
  std::string folders;
  for (const std::string_view folder : rigel::split(list, ':')) {
    folders.append(folders.empty() ? "" : ":").append(absolute(folder));
  }
  return folders;
}

// The same for each file of a list. The word - stays.
std::string absolute_files(std::string_view list) {
  std::string files;
  for (const std::string_view file : rigel::split(list, ','))
    files.append(files.empty() ? "" : ",").append(file == "-" ? std::string(file) : absolute(file));
  return files;
}

// Inserts `entry` before the variable's value.
void prepend(const char* variable, std::string entry) {
  if (const char* value = std::getenv(variable); value != nullptr && *value != 0) {
    entry.append(":").append(value);
  }
  setenv(variable, entry.c_str(), 1);
}

// Adds a library to the tools of the HSA runtime, which are separated by spaces.
void append_tool(const std::string& library) {
  const char* const tools = std::getenv("HSA_TOOLS_LIB");
  const std::string list = tools == nullptr || *tools == 0 ? library : std::string(tools) + " " + library;
  setenv("HSA_TOOLS_LIB", list.c_str(), 1);
}

// Prints lines for an environment file (docker run --env-file, GITHUB_ENV). The runtime is preloaded instead
// of found by LD_LIBRARY_PATH: that saves a variable, and the linker uses a loaded library for what a program
// needs.
int print_environment(const std::string& libraries, const std::string& runtime, const Settings& settings) {
  std::printf("LD_PRELOAD=%s/libvgpu_preload.so", libraries.c_str());
  if (!runtime.empty()) std::printf(":%s/libhsa-runtime64.so.1", runtime.c_str());
  std::printf("\n");
  // Defaults are printed only if they override a variable.
  if (settings.gpus != kDefaultGpus || std::getenv("VGPU_GPUS") != nullptr)
    std::printf("VGPU_GPUS=%s\n", settings.gpus.c_str());
  if (settings.link != kDefaultLink || std::getenv("VGPU_LINK") != nullptr)
    std::printf("VGPU_LINK=%s\n", settings.link.c_str());
  std::vector<const char*> variables = {"VGPU_BOARD_PATH", "VGPU_LOG",          "VGPU_LOG_FILE",
                                        "VGPU_WATCHDOG",   "VGPU_RUN_FIDELITY", "VGPU_REQUIRE"};
  for (const profile::Setting& setting : profile::settings()) variables.push_back(setting.variable);
  for (const check::Setting& setting : check::settings()) variables.push_back(setting.variable);
  variables.push_back("HSA_TOOLS_LIB");
  for (const char* variable : variables) {
    if (const char* value = std::getenv(variable)) std::printf("%s=%s\n", variable, value);
  }
  return end_output();
}

const check::Setting* find_check_setting(std::string_view option) {
  for (const check::Setting& setting : check::settings()) {
    if (!setting.option.empty() && setting.option == option) return &setting;
  }
  return nullptr;
}

const profile::Setting* find_profile_setting(std::string_view option) {
  const auto settings = profile::settings();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const profile::Setting& each) { return each.option == option; });
  return found == settings.end() ? nullptr : &*found;
}

// Reads the settings of the checks. Reports invalid ones, by the option if it was given, otherwise by the
// variable.
bool read_check_settings(const std::vector<std::string_view>& options, check::Options& read) {
  bool is_valid = true;
  for (const check::Setting& setting : check::settings()) {
    const char* const value = std::getenv(setting.variable);
    if (value == nullptr || *value == 0) continue;
    const bool is_option = std::find(options.begin(), options.end(), setting.option) != options.end();
    const std::string problem = setting.read(value, read);
    for (const std::string_view line : rigel::split(problem, '\n')) {
      complain(std::string(is_option ? setting.option : setting.variable) + ": " + std::string(line));
      is_valid = false;
    }
  }
  return is_valid;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings = Settings::from_environment();
  const char* const runtime_variable = std::getenv("VGPU_RUNTIME");
  std::string runtime = runtime_variable == nullptr || *runtime_variable == 0 ? "rigel" : runtime_variable;
  bool environment = false;
  std::vector<std::string_view> check_options;
  int index = 1;
  for (; index < argc && argv[index][0] == '-'; ++index) {
    const std::string_view option = argv[index];
    if (option == "--") {
      ++index;
      break;
    }
    if (option == "--help" || option == "-h") return print(kHelp);
    if (option == "--version") return print_version();
    if (option == "--list" || option == "--boards") return list_boards();
    if (option == "--env") {
      environment = true;
      continue;
    }
    if (option == "--fidelity") return print_fidelity();
    if (option == "--check") {
      setenv("VGPU_CHECK", "all", 1);
      continue;
    }
    if (const profile::Setting* const flag = find_profile_setting(option);
        flag != nullptr && flag->default_value != nullptr) {
      setenv(flag->variable, flag->default_value, 1);
      continue;
    }
    if (option == "--run-fidelity") {
      setenv("VGPU_RUN_FIDELITY", "-", 1);
      continue;
    }
    const size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    const check::Setting* const setting = find_check_setting(name);
    const profile::Setting* const profile_setting = find_profile_setting(name);
    if (name != "--gpu" && name != "--link" && name != "--log" && name != "--log-file" &&
        name != "--runtime" && name != "--watchdog" && name != "--run-fidelity" && name != "--require" &&
        profile_setting == nullptr && setting == nullptr) {
      std::vector<std::string_view> known = {
          "--gpu", "--link",     "--log",  "--log-file", "--runtime",      "--watchdog", "--list",
          "--env", "--fidelity", "--help", "--version",  "--run-fidelity", "--require"};
      for (const profile::Setting& each : profile::settings()) known.push_back(each.option);
      for (const check::Setting& each : check::settings()) {
        if (!each.option.empty()) known.push_back(each.option);
      }
      std::string guess = did_you_mean(name, known);
      if (guess.empty()) guess = "; use vgpu-run --help";
      return complain("unknown option " + rigel::in_quotes(option) + guess);
    }
    std::string value;
    if (equals != option.npos) {
      value = option.substr(equals + 1);
    } else if (index + 1 < argc) {
      value = argv[++index];
    } else {
      return complain(std::string(name) + ": missing value");
    }
    if (name == "--gpu") settings.gpus = value, settings.gpus_source = name;
    if (name == "--link") settings.link = value, settings.link_source = name;
    if (name == "--runtime") runtime = value;
    if (setting != nullptr) {
      if (value.empty()) return complain(std::string(name) + ": empty value");
      setenv(setting->variable, (setting->is_path ? absolute_folders(value) : value).c_str(), 1);
      check_options.push_back(setting->option);
    }
    if (profile_setting != nullptr) {
      if (name == "--profile") value = absolute_files(value);
      if (const std::string problem = profile_setting->problem(value); !problem.empty())
        return complain(std::string(name) + ": " + problem);
      if (name == "--profile-against") value = absolute(value);
      setenv(profile_setting->variable, value.c_str(), 1);
    }
    if (name == "--run-fidelity") {
      value = absolute_files(value);
      if (const auto outputs = fidelity::parse_outputs(value); !outputs)
        return complain("--run-fidelity: " + outputs.error());
      setenv("VGPU_RUN_FIDELITY", value.c_str(), 1);
    }
    if (name == "--require") {
      if (value != "exact")
        return complain("--require: invalid value " + rigel::in_quotes(value) + "; use exact");
      setenv("VGPU_REQUIRE", value.c_str(), 1);
    }
    if (name == "--watchdog") {
      settings.watchdog = value, settings.watchdog_source = name;
      setenv("VGPU_WATCHDOG", value.c_str(), 1);
    }
    if (name == "--log") {
      if (const std::string wrong = Log::wrong_words(value); !wrong.empty())
        return complain("--log: " + wrong);
      setenv("VGPU_LOG", value.c_str(), 1);
    }
    if (name == "--log-file" && value.empty())
      return complain("--log-file: empty value; use the path of a file");
    if (name == "--watchdog" && value.empty())
      return complain("--watchdog: empty value; use a number of seconds");
    if (name == "--log-file") setenv("VGPU_LOG_FILE", absolute(value).c_str(), 1);
  }
  settings.gpus = with_absolute_paths(settings.gpus);
  if (settings.link.empty()) settings.link = kDefaultLink;
  if (const char* const folders = std::getenv("VGPU_BOARD_PATH")) {
    setenv("VGPU_BOARD_PATH", absolute_folders(folders).c_str(), 1);
  }
  rigel::Diagnostics diagnostics;
  settings.make_machine(diagnostics);
  settings.watchdog_seconds(diagnostics);
  for (const auto& entry : diagnostics.entries()) complain(entry.text);
  check::Options checks;
  const bool has_valid_checks = read_check_settings(check_options, checks);
  if (diagnostics.has_errors() || !has_valid_checks) return kUsage;
  if (index == argc && !environment) return std::fputs(kHelp, stderr), kUsage;

  const auto found = find_libraries();
  if (!found) return complain(found.error());
  const std::string& libraries = *found;
  const auto runtime_folder = vgpu_run::runtime_folder(runtime, libraries);
  if (!runtime_folder) return complain(runtime_folder.error());
  for (const std::string& why :
       {vgpu_run::cannot_be_named(libraries, "LD_PRELOAD"),
        vgpu_run::cannot_be_named(*runtime_folder, environment ? "LD_PRELOAD" : "LD_LIBRARY_PATH")}) {
    if (!why.empty()) return complain(why);
  }
  if (checks.tools != 0) append_tool(libraries + "/libvgpu_check.so");
  // The program keeps this process's ID.
  if (!checks.checks_children) setenv("VGPU_CHECK_CHILDREN", std::to_string(getpid()).c_str(), 1);
  if (environment) return print_environment(libraries, *runtime_folder, settings);
  if (const std::string why = vgpu_run::cannot_be_preloaded(argv[index]);
      settings.gpus != "none" && !why.empty())
    report("warning", why);
  if (checks.tools != 0 && checks.format == check::Format::kSarif && !checks.log_file.empty()) {
    // Processes add to the document; it does not contain those of an earlier command.
    check::update_log(checks.log_file, [](const std::string&) { return check::empty_sarif_log(); });
  }
  setenv("VGPU_GPUS", settings.gpus.c_str(), 1);
  setenv("VGPU_LINK", settings.link.c_str(), 1);
  prepend("LD_PRELOAD", libraries + "/libvgpu_preload.so");
  if (!runtime_folder->empty()) prepend("LD_LIBRARY_PATH", *runtime_folder);
  execvp(argv[index], argv + index);
  const int error = errno;
  report("error", std::string(argv[index]) + ": cannot run: " + std::strerror(error));
  return kNoProgram;
}
