// Evaluates a module: what is known at compile time is computed, the rest becomes register code.
// Everything is lazy: a global is evaluated when it is first named, a function is compiled when it
// is first called, exported or bound; what nobody reaches may be wrong and takes no memory.
//
// Two modes share every function: `now` runs statements (comptime blocks, the layout, initial
// values), otherwise they become code in `builder`.
#pragma once

#include <array>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "csl/meaning/compilation.h"

namespace tensorpress::csl {

class Evaluator {
 public:
  /// `program` is null while a layout is evaluated.
  Evaluator(Compilation& compilation, Program* program)
      : all_(compilation), types_(compilation.types), program_(program) {}

  /// Evaluates the layout block of a file into compilation.layout.
  void run_layout(const std::string& path);
  /// Compiles a tile into the program.
  void run_tile(const std::string& path, const Value& params, Position from);

 private:
  struct Local {
    std::string_view name;
    Value value;
    bool constant = false;
  };
  struct Loop {
    std::vector<std::size_t> breaks, continues;  // jumps to be set
  };
  struct Builder {
    FunctionCode code;
    std::uint32_t next = 0;  // the first free register
    std::uint32_t kept = 0;  // below are variables
    std::vector<Loop> loops;
    const Type* result = nullptr;
    const std::set<std::string_view>* addressed = nullptr;  // variables that need an address
    std::uint32_t result_address = 0;                       // of results that are structs
    std::uint16_t result_register = kNoRegister;
  };
  struct Frame {
    Module* module = nullptr;
    bool now = true;
    std::size_t first_local = 0;
    const Type* result = nullptr;
    Value returned = {};
    Builder* builder = nullptr;
  };
  enum class Flow : std::uint8_t { next, breaking, continuing, returning };
  /// A parameter of an instance: a known value, or a type of what comes at run time.
  struct Bound {
    std::string_view name;
    Value value;
    bool runtime = false;
  };
  struct Instance {
    int index = 0;
    Module* module = nullptr;
    const Declaration* function = nullptr;
    std::vector<Bound> parameters;
    const Type* result = nullptr;
  };
  using Builtin = Value (Evaluator::*)(const Expr&);
  struct NamedBuiltin {
    std::string_view name;
    Builtin call;
  };

  // modules.cc
  Module* module(const std::string& path, const Value& params, Position from);
  std::string resolved(std::string_view name, const Module& from) const;
  Value global(Module& module, const Declaration& declaration, Position from);
  Value initial(Module& module, const Declaration& declaration);
  Value command_line_value(const Declaration& declaration, const std::string& text);
  void run_pending();
  void run_comptime_blocks(Module& module);

  // memory.cc
  std::uint32_t allocate(std::uint32_t bytes, std::uint32_t alignment, std::string name,
                         Position at);
  void write_image(std::uint32_t address, const Value& value, const Type* type, Position at);
  std::uint32_t address_of_known(const Value& value, const Type* type, Position at);
  Value global_in_memory(Module& module, const Declaration& declaration, Position at);
  Value in_memory(Value value, Position at);
  void store(const Value& place, const Value& value, Position at);
  Value memory_value(const Type* type, std::uint32_t address, std::uint16_t held = kNoRegister);

  // statements.cc
  Flow statement(const Stmt& stmt);
  Flow block(const Stmt& stmt);
  Flow variable(const Stmt& stmt);
  Flow choice(const Stmt& stmt);
  Flow while_loop(const Stmt& stmt);
  Flow for_loop(const Stmt& stmt);
  Flow for_now(const Stmt& stmt, const Value& over);
  Flow for_range_later(const Stmt& stmt, const Value& range);
  Flow for_array_later(const Stmt& stmt, Value array);
  /// Adds 1 to a register of 16 bits.
  void count_on(std::uint16_t index, Position at);
  /// Back to `top`; jumps out of the loop land here, and its variables are free again.
  void close_loop(Position at, std::int32_t top, std::size_t leave, const Loop& loop,
                  std::uint32_t kept);
  Flow selection(const Stmt& stmt);
  Flow returning(const Stmt& stmt);
  void assign(const Stmt& stmt);
  void assign_to(Value place, const Value& value, Position at);
  Local& declare(std::string_view name, Value value, bool constant);
  std::size_t jump_unless(const Value& condition, Position at);
  void patch(const std::vector<std::size_t>& jumps);
  void free_temporaries();

  // expressions.cc
  Value value(const Expr& expr, const Type* expected = nullptr);      // never in memory, if scalar
  Value evaluated(const Expr& expr, const Type* expected = nullptr);  // may be in memory
  Value known_value(const Expr& expr, const Type* expected, std::string_view what);
  Value name(const Expr& expr);
  Value field(const Expr& expr);
  Value field_of(Value base, std::string_view name, Position at);
  Value index(const Expr& expr);
  Value element(Value base, const std::vector<Value>& indices, Position at);
  Value dereference(const Value& pointer, Position at);
  Value address(const Expr& expr);
  Value choice_value(const Expr& expr, const Type* expected);
  Value literal(const Expr& expr, const Type* expected);
  Value typed_literal(const Expr& expr);
  Value filled(const Type* type, const Expr& from, std::vector<Value> items);
  Value type_value(const Expr& expr);
  const Type* type_of(const Expr& expr);
  Value tensor_access(const Expr& expr);

  // arithmetic.cc
  Value unary(const Expr& expr, const Type* expected);
  Value binary(const Expr& expr, const Type* expected);
  Value combined(Operator op, Value a, Value b, Position at);
  Value short_circuit(const Expr& expr);
  Value coerced(const Value& value, const Type* type, Position at);
  Value converted_value(const Value& value, const Type* type, Position at);  // @as
  Value loaded(Value value, Position at);
  const Type* defaulted(const Type* type);

  // code.cc
  Builder& builder() { return *frame_->builder; }
  std::size_t emit(Instruction instruction, Position at);
  std::uint16_t fresh(Position at);
  std::uint16_t in_register(const Value& value, Position at);
  std::uint16_t constant_register(std::int64_t bits, Position at);
  std::int64_t bits_of_known(const Value& value);
  Value held_value(const Type* type, std::uint16_t at);
  Value native(Hook hook, const Type* type, const Value& b, const Value& c, Position at);

  // calls.cc
  Value call(const Expr& expr);
  Value call_function(const Value& function, std::vector<Value> arguments,
                      const std::vector<const Expr*>& expressions, Position at);
  Value interpreted(const Value& function, const std::vector<Bound>& parameters, const Type* result,
                    Position at);
  int instance_of(const Value& function, std::vector<Bound> parameters, const Type* result);
  int plain_instance(const Value& function, Position at);
  void compile(const Instance& instance);
  const std::set<std::string_view>& addressed_in(const Declaration& function);

  // builtins_*.cc
  static std::span<const NamedBuiltin> value_builtins();
  static std::span<const NamedBuiltin> machine_builtins();
  static std::span<const NamedBuiltin> layout_builtins();
  Value builtin(const Expr& expr);
  Value as(const Expr&);
  Value bitcast(const Expr&);
  Value ptrcast(const Expr&);
  Value zeros(const Expr&);
  Value constants(const Expr&);
  Value range_of(const Expr&);
  Value type_of_value(const Expr&);
  Value is_same_type(const Expr&);
  Value is_arch(const Expr&);
  Value has_field(const Expr&);
  Value field_named(const Expr&);
  Value comptime_assert(const Expr&);
  Value runtime_assert(const Expr&);
  Value comptime_print(const Expr&);
  Value concat_structs(const Expr&);
  Value import_module(const Expr&);
  Value identifier(const Expr&);  // @get_color and its like
  Value get_int(const Expr&);
  Value array_facts(const Expr&);
  Value fp16(const Expr&);
  Value text_builtin(const Expr&);
  Value get_rectangle(const Expr&);
  Value native_hook(const Expr&);
  Value string_number(const std::string& words);
  // the machine's
  Value get_dsd(const Expr&);
  Value memory_dsd(const Expr& expr, DsdKind kind, const Value& properties);
  Value fabric_dsd(const Expr& expr, DsdKind kind, const Value& properties);
  Value change_dsd(const Expr&);
  Value allocate_fifo(const Expr&);
  Value get_dsr(const Expr&);
  Value load_to_dsr(const Expr&);
  Value dsd_operation(const Expr& expr, const OperationForm& form);
  Operand operand(const Value& value, Scalar scalar, bool destination, Position at);
  bool configure(const Value& config, AsyncConfig& into, Position at);
  Action action(const Value& target, ActionKind kind, Position at);
  Value map(const Expr&);
  Value task_state(const Expr&);  // @activate, @block, @unblock
  Value bind_task(const Expr&);
  Value initialize_queue(const Expr&);
  Value export_symbol(const Expr&);
  Value set_teardown_handler(const Expr&);
  Value set_local_color_config(const Expr&);
  Value unsupported_builtin(const Expr&);
  int task_id_of(const Value& value, Position at);
  // the layout's
  Value set_rectangle(const Expr&);
  Value set_tile_code(const Expr&);
  Value set_color_config(const Expr&);
  Value export_name(const Expr&);
  bool read_color_config(const Value& config, ColorConfig& into, Position at);
  bool read_filter(const Value& config, Filter& into, Position at);
  bool read_directions(const Value& value, std::uint8_t& bits, Position at);

  // small
  Value wrong(Position at, std::string message, std::string way_out = {});
  Value known(const Type* type, Wide integer);
  Value known_real(const Type* type, double real);
  Value known_type(const Type* type);
  Value known_text(std::string text);
  Value nothing() { return known(types_.nothing, 0); }
  Value struct_of(std::vector<std::pair<std::string_view, Value>> fields);
  /// A field of a known struct, or null.
  const Value* part(const Value& value, std::string_view name) const;
  bool expects(const Expr& expr, std::size_t least, std::size_t most);
  bool step(Position at);
  bool runtime() const { return !frame_->now; }

  Compilation& all_;
  Types& types_;
  Program* program_;
  Frame* frame_ = nullptr;
  std::deque<Local> locals_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::vector<Module*> pending_modules_;
  std::deque<Instance> pending_;
  std::map<std::string, int> instances_;
  std::map<const Expr*, const Type*> declared_types_;
  std::map<const Parts*, std::pair<std::shared_ptr<Parts>, std::uint32_t>> kept_constants_;
  std::map<const Declaration*, std::set<std::string_view>> addressed_;
  std::uint32_t used_ = 0;  // bytes of SRAM
  // Tasks by name: which id each is bound to, and constants that wait for it.
  struct Fixup {
    std::size_t constant;
    const Declaration* task;
    Position at;
  };
  void resolve_tasks();
  std::array<const Declaration*, kTaskIds> bound_ = {};
  std::vector<Fixup> fixups_;
  std::map<std::int64_t, std::size_t> constants_;  // where each is in the program
  int depth_ = 0;
};

}  // namespace tensorpress::csl
