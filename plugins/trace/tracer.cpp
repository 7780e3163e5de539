#include "plugins/trace/tracer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "api/support/file_signals.hpp"
#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "loader/text/words.hpp"
#include "plugins/trace/markers.hpp"

namespace trace {
namespace {

constinit std::atomic<Tracer*> current{nullptr};

// For a process that exits without hsa_shut_down. Runs after the destructors of the process, because modules
// that are opened late are closed last.
[[gnu::destructor]] void at_exit() {
  if (Tracer* const tracer = Tracer::of_this_process()) tracer->stop();
}

}  // namespace

Tracer* Tracer::of_this_process() noexcept {
  Tracer* const tracer = current.load(std::memory_order_acquire);
  return tracer != nullptr && tracer->process_ == ::getpid() ? tracer : nullptr;
}

Tracer& Tracer::start_here(const hsatool::Host& host) {
  Tracer* tracer = of_this_process();
  if (tracer == nullptr) {  // a parent's tracer stays allocated: its threads do not exist here
    tracer = new Tracer(host);
    current.store(tracer, std::memory_order_release);
  }
  tracer->start(host);
  return *tracer;
}

Tracer::Tracer(const hsatool::Host& host)
    : process_(::getpid()), recorder_(describe_functions(host.functions())) {}

void Tracer::start(const hsatool::Host& host) {
  const rigel::MutexLock lock(mutex_);
  if (is_started_) throw std::runtime_error("another entry of the configuration already traces this process");
  rigel::Diagnostics diagnostics;
  options_ = Options::parse(host.config(), diagnostics);
  if (diagnostics.has_errors())
    throw std::invalid_argument(diagnostics.entries().front().text);  // check() reports all
  agents_ = Agents(host.tables(), options_.agents);
  warn_of_unused_patterns(host);
  const std::string path = expand_path(options_.file, static_cast<uint64_t>(process_));
  file_.open(path, path == path_);  // appends to the trace if the runtime was started again
  path_ = path;
  out_.clear();
  file_failed_ = false;
  writer_failed_ = false;
  stopping_ = false;
  const std::span functions = host.functions();
  std::vector<bool> shown(functions.size());
  for (const hsatool_function_t* const function : functions)
    shown[function->index] = options_.functions.selects(hsatool::view(function->name));
  writer_ = std::make_unique<Writer>(recorder_, options_, agents_, out_, ++sessions_);
  size_t words = 4 * Ring::kLongest;
  while (words * sizeof(uint64_t) < size_t{options_.buffer_kb} << 10) words *= 2;
  recorder_.start(&host.raw(), shown, words);
  try {
    const rigel::ProgramSignalsBlocked blocked;
    thread_ = std::thread([this] { write_until_stopped(); });
  } catch (...) {
    recorder_.stop();
    file_.close();
    throw;
  }
  if (options_.markers) record_markers_to(&recorder_);
  is_started_ = true;
}

// Warns because a mistyped name has no effect. Kernel names are unknown at this time.
void Tracer::warn_of_unused_patterns(const hsatool::Host& host) const {
  const auto warn = [&host](std::string_view option, const std::string& pattern, std::string_view object) {
    host.log(HSATOOL_LOG_WARN, "option " + std::string(option) + ": " + rigel::in_quotes(pattern) +
                                   " matches no " + std::string(object));
  };
  std::vector<std::string> functions;
  for (const hsatool_function_t* const function : host.functions())
    functions.emplace_back(hsatool::view(function->name));
  for (const std::string& pattern : options_.functions.unmatched(functions))
    warn("functions", pattern, "function");
  for (const std::string& pattern : options_.agents.unmatched(agents_.names()))
    warn("agents", pattern, "agent");
}

template <class Step>
bool Tracer::attempt(Step&& step) noexcept {
  try {
    step();
    return true;
  } catch (const std::exception& problem) {
    log_error(problem.what());
    return false;
  }
}

void Tracer::stop() noexcept {
  const rigel::MutexLock lock(mutex_);
  if (!is_started_) return;
  is_started_ = false;
  if (options_.markers) record_markers_to(nullptr);
  recorder_.stop();
  stopping_ = true;
  recorder_.wake();
  thread_.join();
  attempt([this] { write_the_rest(); });
  attempt([this] { summarise(); });  // even if the trace could not be written
  file_.close();
}

void Tracer::write_the_rest() {
  if (writer_failed_) return;
  writer_->cycle([this] { flush(); });
  writer_->finish(static_cast<uint32_t>(::syscall(SYS_gettid)), recorder_.host().services->now());
  flush();
}

void Tracer::write_until_stopped() noexcept {
  pthread_setname_np(pthread_self(), "trace");
  // Polls less often while nothing is recorded.
  bool had_records = true;
  writer_failed_ = !attempt([&] {
    while (!stopping_) {
      recorder_.sleep(had_records ? options_.flush_ms : 5 * options_.flush_ms);
      had_records = writer_->cycle([this] { flush(); });
      flush();
    }
  });
}

// Writes whole packets, so that the file is readable if the process ends.
void Tracer::flush() noexcept {
  if (!file_failed_ && !out_.empty()) {
    if (const int error = file_.write(out_); error != 0) {
      file_failed_ = true;
      log_error(path_ + ": cannot write: " + std::strerror(error));
    }
  }
  out_.clear();
}

void Tracer::log_error(std::string_view message) noexcept {
  const hsatool_host_t& host = recorder_.host();
  host.services->log(host.self, HSATOOL_LOG_ERROR, hsatool::str(message));
}

void Tracer::summarise() {
  if (options_.summary == "none") return;
  std::string text = writer_->statistics().text();
  if (writer_->lost() != 0) {
    text +=
        "\n" + std::to_string(writer_->lost()) +
        " records are lost: the buffers were full; increase option buffer_kb, or select fewer functions\n";
  }
  if (text.empty()) return;
  if (options_.summary == "stderr") {
    text = "trace of process " + std::to_string(process_) + ": " + path_ + "\n" + text;
    while (!text.empty()) {
      const ssize_t written =
          rigel::without_file_signals([&] { return ::write(STDERR_FILENO, text.data(), text.size()); });
      if (written < 0 && errno != EINTR) return;
      if (written > 0) text.erase(0, static_cast<size_t>(written));
    }
    return;
  }
  OutputFile file;
  const std::string path = expand_path(options_.summary, static_cast<uint64_t>(process_));
  const bool append = path == summary_path_;
  file.open(path, append);
  summary_path_ = path;
  if (append) text.insert(0, "\n");
  if (const int error = file.write(text); error != 0)
    throw std::system_error(error, std::generic_category(), path);
}

uint32_t Tracer::activities() const {
  uint32_t kinds = 0;
  if (options_.packets) kinds |= HSATOOL_ACTIVITY_DISPATCH | HSATOOL_ACTIVITY_BARRIER;
  if (options_.copies) kinds |= HSATOOL_ACTIVITY_COPY;
  return kinds;
}

}  // namespace trace
