// Standard input from, or standard output into, a file for the duration of a scope.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace tensorpress {

class Redirected {
 public:
  static Redirected input(const std::string& path) { return {0, ::open(path.c_str(), O_RDONLY)}; }
  static Redirected output(const std::string& path) {
    return {1, ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
  }
  /// Takes over the descriptor `replacement`.
  Redirected(int standard, int replacement) : standard_(standard), saved_(::dup(standard)) {
    std::fflush(stdout);
    EXPECT_GE(replacement, 0);
    EXPECT_EQ(::dup2(replacement, standard), standard);
    ::close(replacement);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() {
    std::fflush(stdout);
    ::dup2(saved_, standard_);
    ::close(saved_);
  }

 private:
  int standard_;
  int saved_;
};

}  // namespace tensorpress
