// A shared library opened while the program runs. What only some verbs need (HDF5 pulls in
// some thirty libraries) must not slow down or bind the program otherwise.
#pragma once

#include <initializer_list>

#include "tensorpress/result.h"

namespace tensorpress {

class SharedLibrary {
 public:
  enum class Symbols : bool { hidden, shared_with_plugins };
  /// The first of `names` that can be opened; it stays open until the program ends. The error is
  /// the system's about the first name.
  static Result<SharedLibrary> open(std::initializer_list<const char*> names, Symbols symbols);

  /// Fills a pointer to a function or variable of the library; an error names what is not there.
  template <class T>
  Result<void> find(const char* name, T*& pointer) const {
    auto found = address(name);
    if (!found.ok()) return std::move(found).error();
    pointer = reinterpret_cast<T*>(*found);
    return {};
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  Result<void*> address(const char* name) const;

  void* handle_;
};

}  // namespace tensorpress
