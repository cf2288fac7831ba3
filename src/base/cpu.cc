#include "base/cpu.h"

#if defined(__x86_64__)
#  include <cpuid.h>
#endif

#include <array>
#include <cstdlib>

#include "base/errors.h"

namespace tensorpress {
namespace {

struct Named {
  Isa isa;
  std::string_view name;
};
constexpr std::array<Named, 5> kNames = {{{Isa::scalar, "scalar"},
                                          {Isa::neon, "neon"},
                                          {Isa::sse4, "sse4"},
                                          {Isa::avx2, "avx2"},
                                          {Isa::avx512, "avx512"}}};

#if defined(__x86_64__) && !defined(TENSORPRESS_SCALAR_ONLY)
// Two that clang 16's __builtin_cpu_supports does not know: leaf 1, ecx bit 29, and leaf
// 0x80000001, ecx bit 5.
//
// Asked once: under a hypervisor each cpuid costs 15 us, as much as decompressing 100 kB.
bool ask_for_f16c_and_lzcnt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
  const bool lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c >> 5 & 1) != 0;
  return f16c && lzcnt;
}
bool cpu_has_f16c_and_lzcnt() {
  static const bool answer = ask_for_f16c_and_lzcnt();
  return answer;
}
#endif

// The feature sets are those of Highway's targets of the same names; __builtin_cpu_supports also
// asks the operating system whether it saves the wide registers.
bool cpu_has(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return true;
#if defined(__x86_64__) && !defined(TENSORPRESS_SCALAR_ONLY)
    case Isa::sse4:
      return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
             __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
    case Isa::avx2:
      return cpu_has(Isa::sse4) && __builtin_cpu_supports("avx2") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
             __builtin_cpu_supports("fma") && cpu_has_f16c_and_lzcnt();
    case Isa::avx512:
      return cpu_has(Isa::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
#elif defined(__aarch64__) && !defined(TENSORPRESS_SCALAR_ONLY)
    case Isa::neon:
      return true;
#endif
    default:
      return false;
  }
}

// Without a list of them: packing asks on every call, and promises to allocate nothing.
Isa best_isa(Isa cap) {
  Isa best = Isa::scalar;
  for (const auto& named : kNames) {
    if (named.isa <= cap && cpu_has(named.isa)) best = named.isa;
  }
  return best;
}

}  // namespace

std::string_view name_of(Isa isa) {
  for (const auto& named : kNames) {
    if (named.isa == isa) return named.name;
  }
  return "unknown";
}

Result<Isa> parse_isa(std::string_view name) {
  for (const auto& named : kNames) {
    if (named.name == name) return named.isa;
  }
  return bad_argument("'", name,
                      "' is not an instruction set; use scalar, sse4, avx2, avx512 or neon");
}

Isa detected_isa() {
  return best_isa(kNames.back().isa);
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> usable;
  for (const auto& named : kNames) {
    if (cpu_has(named.isa)) usable.push_back(named.isa);
  }
  return usable;
}

Result<Isa> active_isa() {
  // Only a concurrent setenv would be unsafe, and that is the host's to avoid.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const cap_name = std::getenv("TENSORPRESS_MAX_ISA");
  if (cap_name == nullptr || *cap_name == '\0') return detected_isa();
  const auto cap = parse_isa(cap_name);
  if (!cap.ok()) return bad_argument("TENSORPRESS_MAX_ISA: ", cap.error().message);
  return best_isa(*cap);
}

}  // namespace tensorpress
