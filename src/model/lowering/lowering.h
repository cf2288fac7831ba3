// The walk over the nodes, forward and then backward, that has each write its lines.
#pragma once

#include "model/lowering/parts.h"

namespace tensorpress::model {

class Lowering {
 public:
  explicit Lowering(const Setting& setting) : setting_(setting), parts_(setting) {}

  Program run();

 private:
  void forward_node(NodeId id);
  void release_inputs(NodeId id);
  void begin_backward();
  void backward_node(NodeId id);

  const Setting& setting_;
  Parts parts_;
};

}  // namespace tensorpress::model
