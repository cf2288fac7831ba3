"""Which activation is stored how: levels from off to max, plans in JSON, and what the backward pass
of each function needs of the tensors that it saves."""
