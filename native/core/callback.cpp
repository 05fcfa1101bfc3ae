#include "core/callback.hpp"

#include "core/hooks.hpp"
#include "core/message.hpp"
#include "core/stale.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"

#include <pthread.h>

#include <deque>
#include <map>
#include <utility>

namespace hostacl {
namespace {

struct Posted {
    Callback function = nullptr;
    void* user_data = nullptr;
    bool done = false;
    bool blocks = false;
    std::weak_ptr<Stream> stream;
};
using PostedPtr = std::shared_ptr<Posted>;

struct Subscriber {
    size_t streams = 0; // how many it serves
    std::deque<PostedPtr> posts;
};

using Subscribers = std::map<uint64_t, Subscriber>;

// Machine lock held.
Subscribers& subscribers(Reports sort) {
    static Subscribers* both = new Subscribers[2];
    return both[static_cast<int>(sort)];
}

uint64_t& thread_of(Stream& stream, Reports sort) {
    return sort == Reports::Callback ? stream.callback_thread : stream.host_func_thread;
}

const char* subscribe_name(Reports sort) {
    return sort == Reports::Callback ? "aclrtSubscribeReport" : "aclrtSubscribeHostFunc";
}

thread_local const Stream* waiting_for_this_thread = nullptr; // the stream of the blocking callback that runs here

uint64_t this_thread() { return static_cast<uint64_t>(::pthread_self()); }

class PostTask : public Task {
  public:
    PostTask(PostedPtr posted, Reports sort, uint64_t thread)
        : posted_(std::move(posted)), sort_(sort), thread_(thread) {}
    Failure run() override {
        Lock lock = lock_machine();
        auto found = subscribers(sort_).find(thread_);
        if (found == subscribers(sort_).end()) { // it unsubscribed meanwhile: nobody will ever run it
            posted_->done = true;
            return {ACL_ERROR_RT_STREAM_NO_CB_REG,
                    "HA320: a callback was dropped: its thread unsubscribed before the stream came to it"};
        }
        found->second.posts.push_back(posted_);
        machine().moved_on();
        return {};
    }
    std::string describe() const override { return "launch of a callback"; }

  private:
    PostedPtr posted_;
    Reports sort_;
    uint64_t thread_;
};

class AwaitTask : public Task {
  public:
    explicit AwaitTask(PostedPtr posted) : posted_(std::move(posted)) {}
    bool ready() const override { return posted_->done; }
    Failure run() override { return {}; }
    std::string describe() const override { return "callback that its thread has not processed yet"; }

  private:
    PostedPtr posted_;
};

class HostFunctionTask : public Task {
  public:
    HostFunctionTask(Callback function, void* user_data) : function_(function), user_data_(user_data) {}
    Failure run() override {
        function_(user_data_);
        return {};
    }
    std::string describe() const override { return "host function"; }

  private:
    Callback function_;
    void* user_data_;
};

// The subscriber goes when its last stream did; what was posted to it ends unprocessed. Lock held.
void leave(Reports sort, uint64_t thread) {
    auto found = subscribers(sort).find(thread);
    if (found == subscribers(sort).end() || --found->second.streams > 0) return;
    if (!found->second.posts.empty())
        report("HA320",
               format("%zu callbacks were posted to the thread and never processed", found->second.posts.size()));
    for (const PostedPtr& posted : found->second.posts) posted->done = true;
    subscribers(sort).erase(found);
    machine().moved_on();
}

// A stream that posts to this thread, to be run first. Lock held.
StreamPtr posting_stream(Reports sort, uint64_t thread) {
    StreamPtr found;
    streams().each([&](Handle, const StreamPtr& stream) {
        if (!found && thread_of(*stream, sort) == thread && !stream->queue.empty()) found = stream;
    });
    return found;
}

} // namespace

bool waits_for_this_thread(const Stream& stream) {
    return (stream.busy && stream.runner == std::this_thread::get_id()) || waiting_for_this_thread == &stream;
}

void end_subscriptions(Stream& stream) {
    for (Reports sort : {Reports::Callback, Reports::HostFunc}) {
        uint64_t thread = std::exchange(thread_of(stream, sort), 0);
        if (thread) leave(sort, thread);
    }
}

Code subscribe(Reports sort, uint64_t thread, Handle handle) {
    Lock lock = lock_machine();
    StreamPtr stream;
    if (!thread)
        return fail(ACL_ERROR_INVALID_PARAM, "HA321", "threadId = 0; allowed: the pthread_self() of a live thread");
    if (Code code = resolve_stream(handle, &stream)) return code;
    uint64_t& subscribed = thread_of(*stream, sort);
    if (subscribed == thread) return 0;
    if (subscribed)
        return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "HA322",
                    format("stream = %d is subscribed by thread %llu already; unsubscribe that one first", stream->id,
                           static_cast<unsigned long long>(subscribed)));
    subscribed = thread;
    subscribers(sort)[thread].streams++;
    machine().moved_on();
    return 0;
}

Code unsubscribe(Reports sort, uint64_t thread, Handle handle) {
    Lock lock = lock_machine();
    StreamPtr stream;
    if (Code code = resolve_stream(handle, &stream)) return code;
    uint64_t& subscribed = thread_of(*stream, sort);
    if (!subscribed || subscribed != thread)
        return fail(
            ACL_ERROR_RT_STREAM_NO_CB_REG, "HA323",
            format("stream = %d is not subscribed by thread %llu", stream->id, static_cast<unsigned long long>(thread)));
    subscribed = 0;
    leave(sort, thread);
    run_ready(lock);
    return 0;
}

Code launch_callback(Reports sort, Callback function, void* user_data, bool blocks, Handle handle) {
    std::string site = call_site();
    std::unique_ptr<Task> post, await;
    Lock lock = lock_machine();
    StreamPtr stream;
    if (Code code = resolve_stream(handle, &stream)) return code;
    uint64_t thread = thread_of(*stream, sort);
    if (!thread)
        return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "HA323",
                    format("stream = %d has no thread for callbacks; call %s first", stream->id, subscribe_name(sort)));
    auto posted = std::make_shared<Posted>();
    posted->function = function;
    posted->user_data = user_data;
    posted->blocks = blocks;
    posted->stream = stream;
    post = std::make_unique<PostTask>(posted, sort, thread);
    post->site = site;
    if (Code code = enqueue(*stream, post)) return code;
    if (blocks) {
        await = std::make_unique<AwaitTask>(posted);
        await->site = site;
        if (Code code = enqueue(*stream, await)) return code;
    }
    run_ready(lock);
    return 0;
}

Code launch_host_function(Callback function, void* user_data, Handle handle) {
    StreamPtr stream;
    {
        Lock lock = lock_machine();
        if (Code code = resolve_stream(handle, &stream)) return code;
    }
    auto task = std::make_unique<HostFunctionTask>(function, user_data);
    task->site = call_site();
    return submit(stream, std::move(task));
}

Code process_report(Reports sort, int64_t timeout_ms) {
    uint64_t self = this_thread();
    Lock lock = lock_machine();
    auto found = subscribers(sort).find(self);
    if (found == subscribers(sort).end())
        return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "HA324",
                    format("this thread (%llu) is subscribed to no stream; call %s with its id first",
                           static_cast<unsigned long long>(self), subscribe_name(sort)));
    StreamPtr first = posting_stream(sort, self);
    Wait wait;
    wait.done = [&] {
        auto still = subscribers(sort).find(self);
        return still == subscribers(sort).end() || !still->second.posts.empty();
    };
    wait.timeout_ms = timeout_ms;
    wait.target = first.get();
    Waited waited = run_until(lock, wait);
    if (waited == Waited::Interrupted) return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait was interrupted");
    found = subscribers(sort).find(self);
    if (found == subscribers(sort).end())
        return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "HA324", "this thread was unsubscribed while it waited");
    if (waited == Waited::Timeout)
        return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "HA325", format("timeout = %lld: no callback came in so many ms", static_cast<long long>(timeout_ms)));
    PostedPtr posted = found->second.posts.front();
    found->second.posts.pop_front();
    StreamPtr stream = posted->stream.lock();
    if (stream) waited_for(*stream); // it comes after what was submitted before it
    const Stream* outer = waiting_for_this_thread;
    if (posted->blocks) waiting_for_this_thread = stream.get();
    lock.unlock();
    posted->function(posted->user_data);
    lock.lock();
    waiting_for_this_thread = outer;
    posted->done = true;
    machine().moved_on();
    run_ready(lock);
    return 0;
}

} // namespace hostacl
