// CSL programs in strings: what the compiler says of them, and what a tile does with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csl/machine/session.h"

namespace tensorpress::csl {

/// A program of files in memory; "layout.csl" has the layout block.
using Files = std::map<std::string, std::string>;

class TestProgram {
 public:
  explicit TestProgram(Files files, std::map<std::string, std::string> params = {})
      : files_(std::move(files)) {
    all_.read = [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files_.find(path);
      if (found == files_.end()) return std::nullopt;
      return found->second;
    };
    all_.params = std::move(params);
    executable_ = built(all_, "layout.csl");
    if (executable_ != nullptr) session_ = std::make_unique<Session>(all_, *executable_);
  }
  bool compiles() const { return executable_ != nullptr; }
  /// Everything the compiler said.
  std::string said() const {
    std::string words;
    for (const Diagnostic& one : all_.diagnostics.all()) words += rendered(all_.sources, one);
    return words;
  }
  const Executable& executable() const { return *executable_; }
  Session& session() { return *session_; }

 private:
  std::map<std::string, std::string> files_;
  Compilation all_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Session> session_;
};

/// One PE with the code of `tile`, which exports `run` and the array `out` of `elements` u32.
inline TestProgram one_tile(const std::string& tile, int elements = 1) {
  const std::string layout =
      "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
      "layout { @set_rectangle(1, 1);\n"
      "@set_tile_code(0, 0, \"tile.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
      "@export_name(\"out\", [*]u32, true); @export_name(\"run\", fn()void); }\n";
  const std::string head =
      "param memcpy_params;\n"
      "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n"
      "var out = @zeros([" +
      std::to_string(elements) +
      "]u32);\n"
      "var out_ptr: [*]u32 = &out;\n"
      "comptime { @export_symbol(out_ptr, \"out\"); @export_symbol(run); }\n";
  return TestProgram(Files{{"layout.csl", layout}, {"tile.csl", head + tile}});
}

/// What `run` of such a tile leaves in `out`; the error as text where it fails.
struct Ran {
  std::vector<std::uint32_t> out;
  std::string error;
};
inline Ran ran(const std::string& tile, int elements = 1) {
  TestProgram program = one_tile(tile, elements);
  if (!program.compiles()) return {{}, program.said()};
  Session& session = program.session();
  if (const auto launched = session.launch("run", {}); !launched.ok()) {
    return {{}, launched.error().message};
  }
  const auto id = session.id_of("out");
  std::vector<std::uint32_t> out(static_cast<std::size_t>(elements));
  const auto copied = session.copy_from(*id, {}, out.size(), 32, out);
  if (!copied.ok()) return {{}, copied.error().message};
  return {out, {}};
}

/// A function body that computes one value: what it leaves in out[0].
inline Ran computes(const std::string& body) {
  return ran("fn run() void {\n" + body + "\nsys.unblock_cmd_stream();\n}\n");
}

}  // namespace tensorpress::csl
