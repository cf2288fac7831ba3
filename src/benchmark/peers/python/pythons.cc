#include "benchmark/peers/python/pythons.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

extern char** environ;  // NOLINT: POSIX wants it declared by the caller

namespace tensorpress::benchmark {

std::vector<std::string> pythons() {
  std::vector<std::string> found;
  const char* const active =
      std::getenv("VIRTUAL_ENV");  // NOLINT(concurrency-mt-unsafe): on the only thread
  if (active != nullptr && *active != '\0') found.push_back(text(active, "/bin/python"));
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (auto folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const auto python = folder / ".venv" / "bin" / "python";
    if (!std::filesystem::exists(python, ignored)) continue;
    found.push_back(python.string());
    break;
  }
  found.emplace_back("python3");
  return found;
}

std::string answer_of(const std::string& python, const char* question) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const std::array<const char*, 4> arguments = {python.c_str(), "-c", question, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, python.c_str(), &actions, nullptr,
                                  const_cast<char* const*>(arguments.data()), environ);  // NOLINT
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  if (failed == 0) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
      out.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) out.clear();
  }
  close(ends[0]);
  return out.substr(0, out.find('\n'));
}

}  // namespace tensorpress::benchmark
