#include "benchmark/peers/python/worker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/embedded.h"
#include "base/errors.h"

extern char** environ;  // NOLINT: POSIX wants it declared by the caller

namespace tensorpress::benchmark {

extern const std::span<const EmbeddedFile> kWorkerFiles;

namespace {

constexpr int kSocketOfChild = 3, kMemoryOfChild = 4;  // as worker.py expects them

/// Ours, and glibc's settings for what keep_freed_memory() asks for in our own process.
std::vector<const char*> environment_of_child() {
  std::vector<const char*> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.push_back(*each);
  for (const char* setting :
       {"MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=2147483647", "MALLOC_TOP_PAD_=67108864",
        "OMP_NUM_THREADS=1", static_cast<const char*>(nullptr)}) {
    variables.push_back(setting);
  }
  return variables;
}

/// The process, or -1. The socket and the memory are its only descriptors beside the standard ones,
/// which lead nowhere: compressors print.
pid_t spawn(const std::string& python, int socket, int memory) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, socket, kSocketOfChild);
  posix_spawn_file_actions_adddup2(&actions, memory, kMemoryOfChild);
  const std::string source(kWorkerFiles.front().text);
  const std::array<const char*, 4> arguments = {python.c_str(), "-c", source.c_str(), nullptr};
  const auto variables = environment_of_child();
  pid_t child = -1;
  const int failed = posix_spawnp(&child, python.c_str(), &actions, nullptr,
                                  const_cast<char* const*>(arguments.data()),   // NOLINT
                                  const_cast<char* const*>(variables.data()));  // NOLINT
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

/// A descriptor that no later dup2 in the child can hit, closed in the child.
int out_of_the_way(int descriptor) {
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kMemoryOfChild + 1);  // NOLINT: POSIX
  close(descriptor);
  return moved;
}

}  // namespace

Result<std::unique_ptr<PythonWorker>> PythonWorker::start(const std::string& python) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return io_error("there is no socket left for ", python);
  }
  const int ours = out_of_the_way(ends[0]), theirs = out_of_the_way(ends[1]);
  const int memory = out_of_the_way(memfd_create("field", MFD_CLOEXEC));
  const pid_t child = spawn(python, theirs, memory);
  close(theirs);
  std::unique_ptr<PythonWorker> worker(new PythonWorker(child, ours, memory));  // NOLINT: private
  if (child < 0) return unsupported(python, " cannot be started");
  return worker;
}

PythonWorker::~PythonWorker() {
  unmap();
  close(memory_);
  close(socket_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

Result<std::string> PythonWorker::ask(const std::string& command) {
  const std::string line = command + "\n";
  const Error gone = io_error("the Python process ended while it was asked to ", command);
  if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return gone;
  }
  std::string answer;
  std::array<char, 4096> buffer{};
  while (answer.empty() || answer.back() != '\n') {
    const ssize_t got = read(socket_, buffer.data(), buffer.size());
    if (got <= 0) return gone;
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  answer.pop_back();
  constexpr std::string_view kCannot = "cannot ";
  if (answer.starts_with(kCannot)) return unsupported(answer.substr(kCannot.size()));
  return answer;
}

Result<std::span<std::byte>> PythonWorker::share(std::size_t size) {
  unmap();
  void* const start = ftruncate(memory_, static_cast<off_t>(size)) != 0
                          ? MAP_FAILED
                          : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
  if (start == MAP_FAILED) return too_large(size, " bytes of memory cannot be shared");
  mapped_ = {static_cast<std::byte*>(start), size};
  return mapped_;
}

void PythonWorker::unmap() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
}

}  // namespace tensorpress::benchmark
