// The register code that a tile runs. A register holds 64 bits: a scalar as csl/meaning/scalar.h
// says, an address, an identifier, or a packed descriptor. The frame of a called function begins at
// the register that the call names: arguments lie there, and the result comes back there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csl/machine/operations.h"
#include "csl/meaning/types.h"
#include "csl/text/source.h"

namespace tensorpress::csl {

inline constexpr std::uint16_t kNoRegister = 0xffff;

enum class Code : std::uint8_t {
  move,         // a = b
  constant,     // a = constants[where]
  compute,      // a = b op c
  compare,      // a = b op c
  convert,      // a = b as `scalar`, from `other`
  address,      // a = b + c * where, cut to 16 bits
  load,         // a = memory[where + b]
  store,        // memory[where + b] = a
  jump,         // to where
  jump_unless,  // to where if a is 0
  call,         // function `where`, frame at a
  leave,        // back to the caller, its result in a
  operation,    // operations[where]; a: whether it ran to its end
  map_length,   // a = number of elements of descriptor b
  map_address,  // a = address of element c of descriptor b, elements of `scalar`
  receive,      // a = next wavelet of the descriptor b
  send,         // the wavelet a to the descriptor b
  activate,     // task a
  block,        // task a
  unblock,      // task a
  describe,     // a = descriptor b with its part `part` set to c
  load_dsr,     // loads[where]
  check,        // ends the program if a is 0
  native,       // a = hook `part` of b and c
};

enum class Part : std::uint8_t { base, length, stride, offset };

enum class Hook : std::uint8_t {
  unblock_commands,  // memcpy: the host's next command may come
  square_root,       // f32
  cycle_counter,     // a = cycles
  x_coordinate,
  y_coordinate,
  trace,
  print,      // b: what, as `scalar` says; debug and simprint
  set_route,  // tile_config: color b, c: encoded
  sine,
  cosine,
  exponential,
  logarithm,
};

struct Instruction {
  Code code = Code::jump;
  Operator op = Operator::none;
  Scalar scalar = Scalar::none;
  Scalar other = Scalar::none;
  std::uint8_t part = 0;  // Part or Hook
  std::uint16_t a = 0, b = 0, c = 0;
  std::int32_t where = 0;
};

enum class OperandKind : std::uint8_t { none, scalar, address, descriptor, dsr };
struct Operand {
  OperandKind kind = OperandKind::none;
  std::uint16_t at = 0;  // a register; of DSRs: the number of the DSR
  DsrKind file = DsrKind::destination;
};

enum class ActionKind : std::uint8_t { none, activate, unblock, finish };
struct Action {
  ActionKind kind = ActionKind::none;
  std::uint16_t task = kNoRegister;  // a register
};

/// How an operation on descriptors runs and what happens behind it.
struct AsyncConfig {
  bool async = false;
  Action done = {};
  Action on_control = {};
  std::uint16_t index = kNoRegister;        // a register
  std::uint16_t microthread = kNoRegister;  // a register
  std::uint8_t priority = 0;                // 0 low, 1 medium, 2 high
};

struct DsdOperation {
  const OperationForm* form = nullptr;
  Operand destination = {}, sources[3] = {};
  AsyncConfig config = {};
};

struct DsrLoad {
  DsrKind file = DsrKind::destination;
  std::uint16_t number = 0;
  std::uint16_t descriptor = kNoRegister;  // a register
  bool saves_address = false;
  AsyncConfig config = {};
};

struct FunctionCode {
  std::string name;
  std::vector<Instruction> code = {};
  std::vector<Position> places = {};  // of each instruction
  std::uint16_t registers = 1;
};

/// The cycles that an instruction takes, without those of what it starts. What the vendor's
/// compiler makes of a line is not public; docs/adr/0093 says what this is fitted on.
std::uint32_t cycles_of(const Instruction& instruction);

}  // namespace tensorpress::csl
