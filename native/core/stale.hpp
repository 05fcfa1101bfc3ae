// What operators have written and nobody has waited for: a copy that reads it is stale on a card, though here it comes after
// (HA330, found under eager too). Machine lock held for all of it; looked at only while it is asked for.
#pragma once

#include "core/execute.hpp"
#include "core/stream_state.hpp"

namespace hostacl {

void note_results(Stream& stream, const Request& request); // an operator was submitted
void note_order(Stream& stream, const StreamPtr& before);  // what `before` holds now comes first; null: of every stream
void waited_for(Stream& stream);                           // the program knows that the stream is through
void forget_results(uintptr_t start, uintptr_t end);       // the bytes mean something else now

// "operator Add (submitted at a.py:3)" when nobody has waited for what it wrote among these bytes, else "".
std::string describe_unawaited(uintptr_t start, uintptr_t end);

} // namespace hostacl
