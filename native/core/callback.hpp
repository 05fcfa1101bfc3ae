// Callbacks: functions that a stream hands to a subscribed thread, which runs them in its process-report call.
#pragma once

#include "core/stream.hpp"

namespace hostacl {

using Callback = void (*)(void* user_data);

enum class Reports : uint8_t { Callback, HostFunc }; // the two sorts, each with subscriptions of its own

Code subscribe(Reports sort, uint64_t thread, Handle stream);
Code unsubscribe(Reports sort, uint64_t thread, Handle stream);
Code launch_callback(Reports sort, Callback function, void* user_data, bool blocks, Handle stream);
Code process_report(Reports sort, int64_t timeout_ms); // in the subscribed thread

// The stream stands at a task, or at a blocking callback, that runs in this thread: to wait for it would never end.
bool waits_for_this_thread(const Stream& stream); // lock held
void end_subscriptions(Stream& stream); // the stream is no more; lock held

// aclrtLaunchHostFunc: the function is a task of the stream like any other and needs no subscribed thread.
Code launch_host_function(Callback function, void* user_data, Handle stream);

} // namespace hostacl
