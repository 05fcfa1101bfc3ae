// What operators read and write that nobody has waited for: a copy that reads a result is stale on a card, and one that writes
// an input spoils it, though here the operator is through (HA330, found under eager too). Machine lock held for all of it; looked at only while it is asked for.
#pragma once

#include "core/execute.hpp"
#include "core/stream_state.hpp"

namespace hostacl {

void note_touched(Stream& stream, const Request& request); // an operator was submitted
void note_order(Stream& stream, const StreamPtr& before);  // what `before` holds now comes first; null: of every stream
void waited_for(Stream& stream);                           // the program knows that the stream is through
void forget_touched(uintptr_t start, uintptr_t end);       // the bytes mean something else now

// "operator Add (submitted at a.py:3), which writes it" when nobody has waited for an operator that uses these bytes in one of
// these ways, else "".
std::string describe_unawaited(uintptr_t start, uintptr_t end, unsigned uses);

} // namespace hostacl
