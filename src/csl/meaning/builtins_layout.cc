// Builtins of the layout block: which tile runs what, and where colours lead.
#include <algorithm>

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::span<const Evaluator::NamedBuiltin> Evaluator::layout_builtins() {
  static constexpr NamedBuiltin kBuiltins[] = {
      {"set_rectangle", &Evaluator::set_rectangle},
      {"set_tile_code", &Evaluator::set_tile_code},
      {"set_color_config", &Evaluator::set_color_config},
      {"export_name", &Evaluator::export_name},
  };
  return kBuiltins;
}

Value Evaluator::set_rectangle(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value width = known_value(*expr.items[0], nullptr, "the width");
  const Value height = known_value(*expr.items[1], nullptr, "the height");
  if (!width.ok() || !height.ok()) return {};
  if (program_ != nullptr) return wrong(expr.at, "@set_rectangle belongs into the layout block");
  LayoutPlan& layout = all_.layout;
  if (layout.width != 0)
    return wrong(expr.at, "@set_rectangle is called a second time", "A program has one rectangle.");
  if (!width.type->is_integer() || !height.type->is_integer() || width.integer < 1 ||
      height.integer < 1 || width.integer > 1000 || height.integer > 1200) {
    return wrong(expr.at, "a rectangle has 1 to 1000 columns and 1 to 1200 rows, here are " +
                              shown(width) + " and " + shown(height));
  }
  layout.width = static_cast<std::int64_t>(width.integer);
  layout.height = static_cast<std::int64_t>(height.integer);
  layout.at = expr.at;
  layout.tiles.resize(static_cast<std::size_t>(layout.width * layout.height));
  return nothing();
}

namespace {

bool inside(const LayoutPlan& layout, const Value& x, const Value& y) {
  return x.ok() && y.ok() && x.integer >= 0 && y.integer >= 0 && x.integer < layout.width &&
         y.integer < layout.height;
}

std::string outside_message(const LayoutPlan& layout, const Value& x, const Value& y) {
  return "(" + shown(x) + ", " + shown(y) + ") is outside of the rectangle of " +
         std::to_string(layout.width) + " x " + std::to_string(layout.height) + " PEs";
}

}  // namespace

Value Evaluator::set_tile_code(const Expr& expr) {
  if (!expects(expr, 3, 4)) return {};
  if (program_ != nullptr) return wrong(expr.at, "@set_tile_code belongs into the layout block");
  const Value x = known_value(*expr.items[0], nullptr, "the column");
  const Value y = known_value(*expr.items[1], nullptr, "the row");
  const Value name = known_value(*expr.items[2], types_.string, "the name of a file");
  Value params;
  if (expr.items.size() == 4) {
    params = known_value(*expr.items[3], nullptr, "params");
    if (!params.ok()) return {};
  }
  if (!x.ok() || !y.ok() || !name.ok()) return {};
  if (!name.words) return wrong(expr.at, "the name of a file is a string");
  if (!inside(all_.layout, x, y))
    return wrong(expr.at, outside_message(all_.layout, x, y),
                 "Call @set_rectangle first, with columns before rows.");
  PlacedTile& tile =
      all_.layout.tiles[static_cast<std::size_t>(y.integer * all_.layout.width + x.integer)];
  if (tile.set) {
    return wrong(expr.at, "PE (" + shown(x) + ", " + shown(y) + ") has code already",
                 "Call @set_tile_code once for each PE.");
  }
  tile.set = true;
  tile.path = resolved(*name.words, *frame_->module);
  tile.params = params;
  tile.at = expr.at;
  return nothing();
}

bool Evaluator::read_directions(const Value& value, std::uint8_t& bits, Position at) {
  bits = 0;
  const auto add = [&](const Value& one) {
    if (!one.ok() || !one.type->is(TypeKind::direction) || !one.known()) {
      wrong(at, "a direction is EAST, WEST, NORTH, SOUTH or RAMP");
      return false;
    }
    bits |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(one.integer));
    return true;
  };
  if (value.ok() && value.parts) {
    return std::ranges::all_of(value.parts->items, add);
  }
  return add(value);
}

bool Evaluator::read_filter(const Value& config, Filter& into, Position at) {
  const auto number = [&](std::string_view name, std::uint32_t otherwise) {
    const Value* value = part(config, name);
    return value != nullptr ? static_cast<std::uint32_t>(value->integer) : otherwise;
  };
  const Value* kind = part(config, "kind");
  if (kind == nullptr || part(*kind, "range") == nullptr) {
    wrong(at, "this kind of filter is not supported yet", "Range filters are.");
    return false;
  }
  into.set = true;
  into.least = static_cast<std::uint16_t>(number("min_idx", 0));
  into.most = static_cast<std::uint16_t>(number("max_idx", 0xffff));
  return true;
}

bool Evaluator::read_color_config(const Value& config, ColorConfig& into, Position at) {
  into.set = true;
  into.at = at;
  for (const std::string_view field : config.type->fields) {
    if (field != "routes" && field != "switches" && field != "filter" && field != "teardown" &&
        field != "color_swap_x" && field != "color_swap_y") {
      wrong(at, "a color's configuration has no '" + std::string(field) + "'",
            "It has routes, switches, filter and teardown.");
      return false;
    }
  }
  if (const Value* routes = part(config, "routes"); routes != nullptr) {
    const Value *rx = part(*routes, "rx"), *tx = part(*routes, "tx");
    if (rx != nullptr && !read_directions(*rx, into.routes[0].from, at)) return false;
    if (tx != nullptr && !read_directions(*tx, into.routes[0].to, at)) return false;
    for (const std::string_view swap : {"color_swap_x", "color_swap_y"}) {
      if (const Value* on = part(*routes, swap); on != nullptr && on->integer != 0) {
        wrong(at, std::string(swap) + " is not supported yet");
        return false;
      }
    }
  }
  for (const std::string_view swap : {"color_swap_x", "color_swap_y"}) {
    if (part(config, swap) != nullptr) {
      wrong(at, std::string(swap) + " is not supported yet");
      return false;
    }
  }
  if (const Value* filter = part(config, "filter"); filter != nullptr) {
    if (!read_filter(*filter, into.filter, at)) return false;
  }
  if (const Value* teardown = part(config, "teardown"); teardown != nullptr)
    into.teardown = teardown->integer != 0;
  const Value* switches = part(config, "switches");
  if (switches == nullptr || !switches->parts || switches->parts->items.empty()) return true;
  for (int k = 1; k < 4; ++k) {
    into.routes[k] = into.routes[k - 1];  // a position says what changes
    const std::string name = "pos" + std::to_string(k);
    const Value* position = part(*switches, name);
    if (position == nullptr) continue;
    if (const Value* rx = part(*position, "rx");
        rx != nullptr && !read_directions(*rx, into.routes[k].from, at))
      return false;
    if (const Value* tx = part(*position, "tx");
        tx != nullptr && !read_directions(*tx, into.routes[k].to, at))
      return false;
    into.positions = static_cast<std::uint8_t>(k + 1);
  }
  if (const Value* current = part(*switches, "current_switch_pos"); current != nullptr) {
    if (current->integer < 0 || current->integer > 3) {
      wrong(at, "a switch has positions 0 to 3, not " + shown(*current));
      return false;
    }
    into.current = static_cast<std::uint8_t>(current->integer);
  }
  if (const Value* ring = part(*switches, "ring_mode"); ring != nullptr)
    into.ring = ring->integer != 0;
  if (const Value* pop = part(*switches, "pop_mode"); pop != nullptr) {
    const auto on = [&](std::string_view name) {
      const Value* flag = part(*pop, name);
      return flag != nullptr && flag->integer != 0;
    };
    into.pop = on("always_pop") ? 2 : on("pop_on_advance") ? 1 : 0;
  }
  return true;
}

Value Evaluator::set_color_config(const Expr& expr) {
  if (!expects(expr, 4, 4)) return {};
  if (program_ != nullptr)
    return wrong(expr.at, "@set_color_config belongs into the layout block",
                 "In a tile's code call @set_local_color_config.");
  const Value x = known_value(*expr.items[0], nullptr, "the column");
  const Value y = known_value(*expr.items[1], nullptr, "the row");
  const Value color = known_value(*expr.items[2], nullptr, "the color");
  const Value config = known_value(*expr.items[3], nullptr, "the configuration");
  if (!x.ok() || !y.ok() || !color.ok() || !config.ok()) return {};
  if (!color.type->is(TypeKind::color))
    return wrong(expr.at, "a color is needed, here is " + color.type->name,
                 "Make one with @get_color.");
  if (!inside(all_.layout, x, y)) return wrong(expr.at, outside_message(all_.layout, x, y));
  if (!config.type->is(TypeKind::anonymous)) return wrong(expr.at, "a configuration is a struct");
  ColorConfig& place =
      all_.layout.tiles[static_cast<std::size_t>(y.integer * all_.layout.width + x.integer)]
          .colors[static_cast<std::size_t>(color.integer)];
  if (place.set) {
    return wrong(expr.at,
                 "color " + std::to_string(static_cast<int>(color.integer)) + " of PE (" +
                     shown(x) + ", " + shown(y) + ") is configured twice",
                 "Another color is free, or the two are one configuration.");
  }
  read_color_config(config, place, expr.at);
  return nothing();
}

Value Evaluator::export_name(const Expr& expr) {
  if (!expects(expr, 2, 3)) return {};
  const Value name = known_value(*expr.items[0], types_.string, "the name");
  const Type* type = type_of(*expr.items[1]);
  if (!name.ok() || type == nullptr) return {};
  if (!name.words) return wrong(expr.at, "a name for the host is a string");
  HostName made{.name = *name.words,
                .type = type->name,
                .at = expr.at,
                .is_function = type->is(TypeKind::function)};
  if (expr.items.size() == 3) {
    const Value writable =
        known_value(*expr.items[2], types_.boolean, "whether the host may write");
    made.writable = writable.ok() && writable.integer != 0;
  }
  for (const HostName& other : all_.layout.names) {
    if (other.name == made.name)
      return wrong(expr.at, "the name \"" + made.name + "\" is exported twice");
  }
  all_.layout.names.push_back(std::move(made));
  return nothing();
}

}  // namespace tensorpress::csl
