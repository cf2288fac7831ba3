#include "csl/machine/session.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::csl {

Result<int> Session::id_of(const std::string& name) const {
  const auto& names = executable_.names;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k].name == name) return static_cast<int>(k);
  }
  std::string known;
  for (const HostName& one : names) known += " " + one.name;
  return bad_argument("no name '", name,
                      "' is exported; the layout exports:", known.empty() ? " nothing" : known);
}

Error Session::stuck(const std::string& what) {
  if (fabric_.fault() != nullptr) {
    const Fault& fault = fabric_.fault()->fault();
    const Sources::Place place = compilation_.sources.place(fault.at);
    return bad_argument(place.path, ":", place.line, ": ", fault.message);
  }
  const std::string waiting = fabric_.waiting(compilation_.sources);
  return bad_argument(what, " did not end by cycle ", fabric_.now(),
                      waiting.empty() ? "; nothing waits" : "; waiting:\n", waiting);
}

Result<void> Session::wait_for_commands() {
  const auto free = [this] {
    for (int y = 0; y < fabric_.height(); ++y) {
      for (int x = 0; x < fabric_.width(); ++x) {
        const Tile* tile = fabric_.tile(x, y);
        if (tile != nullptr && tile->commands_blocked()) return false;
      }
    }
    return true;
  };
  if (!fabric_.run_until(free, most_cycles)) {
    return stuck("the launched function (it has to call unblock_cmd_stream on every PE)");
  }
  return {};
}

Result<void> Session::launch(const std::string& name, std::span<const std::uint32_t> arguments) {
  RETURN_IF_ERROR(wait_for_commands());
  bool found = false;
  for (int y = 0; y < fabric_.height(); ++y) {
    for (int x = 0; x < fabric_.width(); ++x) {
      Tile* tile = fabric_.tile(x, y);
      if (tile == nullptr) continue;
      for (const Export& one : tile->program()->exports) {
        if (one.name != name || one.function < 0) continue;
        if (one.parameters.size() != arguments.size()) {
          return bad_argument("'", name, "' takes ", one.parameters.size(), " arguments, here are ",
                              arguments.size());
        }
        std::vector<std::int64_t> values;
        for (std::size_t k = 0; k < arguments.size(); ++k)
          values.push_back(wrapped(one.parameters[k], arguments[k]));
        tile->launch(one.function, values);
        fabric_.wake(x, y);
        found = true;
      }
    }
  }
  if (!found) return bad_argument("no PE exports a function '", name, "'");
  // The function itself runs now; what it started may go on.
  const auto returned = [this] {
    for (int y = 0; y < fabric_.height(); ++y) {
      for (int x = 0; x < fabric_.width(); ++x) {
        const Tile* tile = fabric_.tile(x, y);
        if (tile != nullptr && tile->has_calls()) return false;
      }
    }
    return true;
  };
  if (!fabric_.run_until(returned, most_cycles) && fabric_.fault() != nullptr) return stuck("");
  return {};
}

Result<void> Session::check_rectangle(const Rectangle& where, std::size_t elements, int bits,
                                      std::size_t given) const {
  if (where.x < 0 || where.y < 0 || where.width < 1 || where.height < 1 ||
      where.width > executable_.width - where.x || where.height > executable_.height - where.y) {
    return bad_argument("the region of ", where.width, " x ", where.height, " PEs at (", where.x,
                        ", ", where.y, ") is not inside of the rectangle of ", executable_.width,
                        " x ", executable_.height);
  }
  if (bits != 16 && bits != 32) return bad_argument("values have 16 or 32 bits, not ", bits);
  if (elements > kSramBytes * 1024)
    return bad_argument("a PE has no room for ", elements, " values");
  const std::size_t needed =
      static_cast<std::size_t>(where.width) * static_cast<std::size_t>(where.height) * elements;
  if (given != needed)
    return bad_argument("the region needs ", needed, " values, the array has ", given);
  return {};
}

Result<std::uint32_t> Session::address(const Tile& tile, int id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= executable_.names.size())
    return bad_argument("there is no name with the number ", id);
  const std::string& name = executable_.names[static_cast<std::size_t>(id)].name;
  for (const Export& one : tile.program()->exports) {
    if (one.name != name) continue;
    if (one.function >= 0) return bad_argument("'", name, "' is a function; launch it");
    if (!one.pointer) return one.address;
    const auto& memory = const_cast<Tile&>(tile).memory();
    return static_cast<std::uint32_t>(memory[one.address] | memory[one.address + 1] << 8);
  }
  return bad_argument("a PE of the region does not export '", name, "'");
}

Result<void> Session::for_each_copy(int id, const Rectangle& where, std::size_t elements, int bits,
                                    std::size_t values, const CopyOfElement& copy) {
  RETURN_IF_ERROR(check_rectangle(where, elements, bits, values));
  RETURN_IF_ERROR(wait_for_commands());
  const std::size_t bytes = static_cast<std::size_t>(bits / 8);
  std::size_t at = 0;
  for (int y = where.y; y < where.y + where.height; ++y) {
    for (int x = where.x; x < where.x + where.width; ++x) {
      Tile* tile = fabric_.tile(x, y);
      if (tile == nullptr) return bad_argument("PE (", x, ", ", y, ") has no code");
      TRY(const std::uint32_t start, address(*tile, id));
      if (start + elements * bytes > kSramBytes)
        return bad_argument(elements, " values at byte ", start, " end outside of SRAM");
      for (std::size_t k = 0; k < elements; ++k, ++at) {
        copy(std::span<std::uint8_t>(&tile->memory()[start + k * bytes], bytes), at);
      }
    }
  }
  return {};
}

Result<void> Session::copy_to(int id, const Rectangle& where, std::size_t elements, int bits,
                              std::span<const std::uint32_t> data) {
  return for_each_copy(id, where, elements, bits, data.size(),
                       [&](std::span<std::uint8_t> element, std::size_t at) {
                         for (std::size_t b = 0; b < element.size(); ++b)
                           element[b] = static_cast<std::uint8_t>(data[at] >> (8 * b));
                       });
}

Result<void> Session::copy_from(int id, const Rectangle& where, std::size_t elements, int bits,
                                std::span<std::uint32_t> data) {
  return for_each_copy(id, where, elements, bits, data.size(),
                       [&](std::span<std::uint8_t> element, std::size_t at) {
                         data[at] = 0;
                         for (std::size_t b = 0; b < element.size(); ++b)
                           data[at] |= std::uint32_t{element[b]} << (8 * b);
                       });
}

Result<void> Session::stream_to(int color, const Rectangle& where, std::size_t elements, int bits,
                                std::span<const std::uint32_t> data) {
  RETURN_IF_ERROR(check_rectangle(where, elements, bits, data.size()));
  if (color < 0 || color >= kColors) return bad_argument("a color is 0 to 23, not ", color);
  std::size_t at = 0;
  for (int y = where.y; y < where.y + where.height; ++y) {
    for (int x = where.x; x < where.x + where.width; ++x) {
      if (fabric_.tile(x, y) == nullptr) return bad_argument("PE (", x, ", ", y, ") has no code");
      auto& wavelets = fabric_.to_tile(x, y, color);
      for (std::size_t k = 0; k < elements; ++k, ++at) {
        wavelets.push_back({.payload = data[at]});
      }
    }
  }
  return {};
}

Result<void> Session::stream_from(int color, const Rectangle& where, std::size_t elements, int bits,
                                  std::span<std::uint32_t> data) {
  RETURN_IF_ERROR(check_rectangle(where, elements, bits, data.size()));
  if (color < 0 || color >= kColors) return bad_argument("a color is 0 to 23, not ", color);
  fabric_.receive_color(color);
  const auto all_there = [&] {
    for (int y = where.y; y < where.y + where.height; ++y) {
      for (int x = where.x; x < where.x + where.width; ++x) {
        if (fabric_.from_tile(x, y, color).size() < elements) return false;
      }
    }
    return true;
  };
  if (!fabric_.run_until(all_there, most_cycles))
    return stuck(text("receiving ", elements, " wavelets of color ", color, " from every PE"));
  std::size_t at = 0;
  for (int y = where.y; y < where.y + where.height; ++y) {
    for (int x = where.x; x < where.x + where.width; ++x) {
      auto& wavelets = fabric_.from_tile(x, y, color);
      for (std::size_t k = 0; k < elements; ++k, ++at) {
        data[at] = bits == 16 ? wavelets.front().payload & 0xffffu : wavelets.front().payload;
        wavelets.pop_front();
      }
    }
  }
  return {};
}

Result<void> Session::finish() {
  RETURN_IF_ERROR(wait_for_commands());
  fabric_.run_until([] { return false; }, most_cycles);
  if (fabric_.fault() != nullptr) return stuck("");
  return {};
}

std::vector<std::string> Session::take_lines() {
  std::vector<std::string> all;
  for (int y = 0; y < fabric_.height(); ++y) {
    for (int x = 0; x < fabric_.width(); ++x) {
      Tile* tile = fabric_.tile(x, y);
      if (tile == nullptr) continue;
      for (std::string& line : tile->lines()) all.push_back(std::move(line));
      tile->lines().clear();
    }
  }
  return all;
}

}  // namespace tensorpress::csl
