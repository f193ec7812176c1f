#pragma once
// Python's pickle, protocols 2 to 5, of plain data. Nothing in it is ever called: opcodes that
// name, make or change objects are refused where they stand. PyTorch writes protocol 2
// (torch/csrc/jit/serialization/pickler.cpp); opcodes are those of CPython's Lib/pickletools.py.

#include "models/io/records/plain_data.hpp"

namespace fabricast {

/// Whether the bytes begin as protocols 2 to 5 do.
bool begins_as_pickle(std::string_view bytes);

/// Texts are views of `bytes`, which must stay. A tuple is a list, bytes are a text. Throws Error
/// with the byte: what was refused by its opcode's name, what is cut off, what is broken.
PlainData read_pickle(std::string_view bytes, const std::string& file);

}  // namespace fabricast
