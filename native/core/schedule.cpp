#include "core/schedule.hpp"

#include "core/callback.hpp"
#include "core/config.hpp"
#include "core/hooks.hpp"
#include "core/log.hpp"
#include "core/message.hpp"
#include "core/stale.hpp"
#include "core/status.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>

namespace hostacl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterruptStep = std::chrono::milliseconds(100);

size_t queued = 0; // tasks in all queues; machine lock
std::atomic<ExceptionCallback> exception_callback{nullptr};
thread_local uint32_t last_task = 0;
thread_local const void* current_exception = nullptr;

std::mt19937_64& dice() {
    static std::mt19937_64& the_dice = *new std::mt19937_64(config().seed);
    static uint64_t times = config().times_scheduled;
    if (times != config().times_scheduled) {
        times = config().times_scheduled;
        the_dice.seed(config().seed);
    }
    return the_dice;
}

bool can_run(const Stream& stream) {
    return !stream.busy && !stream.queue.empty() && stream.queue.front().task->ready();
}

// The stream whose first task runs next; null when none can. Lock held.
StreamPtr pick(const Stream* target) {
    if (queued == 0) return nullptr;
    std::vector<StreamPtr> able;
    streams().each([&](Handle, const StreamPtr& stream) {
        if (can_run(*stream)) able.push_back(stream);
    });
    if (able.empty()) return nullptr;
    if (config().scheduler == Scheduler::Shuffled) return able[dice()() % able.size()];
    for (const StreamPtr& stream : able)
        if (stream.get() == target) return stream;
    return able.front();
}

void tell_exception(const Stream& stream, uint32_t task, Code code) {
    ExceptionCallback callback = exception_callback.load();
    if (!callback) return;
    ExceptionInfo info{task, static_cast<uint32_t>(stream.id), static_cast<uint32_t>(::syscall(SYS_gettid)),
                       static_cast<uint32_t>(stream.device), static_cast<uint32_t>(code)};
    const void* before = current_exception;
    current_exception = &info;
    callback(&info);
    current_exception = before;
}

// Keeps a failure and, in the mode that asks for it, stops the context. Lock held.
void keep_failure(Stream& stream, Failure&& failure, std::deque<Queued>* dropped) {
    if (log_on(LogLevel::Error))
        log_line(LogLevel::Error, format("stream %d keeps %d %s", stream.id, failure.code, failure.text.c_str()));
    ContextPtr context = stream.context.lock();
    if (stream.stop_on_failure && context && !context->stopped.code) {
        context->stopped = failure;
        context->stopped_by = &stream;
        std::vector<StreamPtr> all = context->streams;
        all.push_back(context->default_stream);
        for (const StreamPtr& other : all)
            if (other) drop_tasks(*other, failure, dropped);
    }
    stream.failures.push_back(std::move(failure));
}

// A task has run: the stream is free again. Lock held.
void end_task(Stream& stream, Failure&& failure, Outcome* outcome, bool keep, std::deque<Queued>* dropped) {
    stream.busy = false;
    stream.finished++;
    if (outcome) {
        outcome->failure = std::move(failure);
        outcome->done = true;
    } else if (failure.code && keep) {
        keep_failure(stream, std::move(failure), dropped);
    }
    machine().moved_on();
}

Failure run_task(Task& task) {
    try {
        return task.run();
    } catch (const std::bad_alloc&) {
        return {ACL_ERROR_BAD_ALLOC, "HA113: " + task.describe() + submitted_at(task.site) + ": out of host memory"};
    } catch (const std::exception& error) {
        return {ACL_ERROR_INTERNAL_ERROR, "HA114: " + task.describe() + submitted_at(task.site) + ": internal error: " + error.what()};
    } catch (...) {
        return {ACL_ERROR_INTERNAL_ERROR, "HA114: " + task.describe() + submitted_at(task.site) + ": internal error"};
    }
}

void run_first(Lock& lock, const StreamPtr& stream) {
    Queued first = std::move(stream->queue.front());
    stream->queue.pop_front();
    queued--;
    stream->busy = true;
    stream->runner = std::this_thread::get_id();
    lock.unlock();
    Failure failure = run_task(*first.task);
    uint32_t id = first.task->id;
    first.task.reset(); // gives up what it holds, which may enter Python
    if (failure.code) tell_exception(*stream, id, failure.code);
    std::deque<Queued> dropped;
    lock.lock();
    end_task(*stream, std::move(failure), first.outcome.get(), true, &dropped);
    if (dropped.empty()) return;
    lock.unlock();
    dropped.clear();
    lock.lock();
}

// One wait on the condition variable, in steps when somebody may interrupt it. False: interrupted.
bool wait_once(Lock& lock, bool for_ever, Clock::time_point end, bool let_python_run) {
    void* state = nullptr;
    auto release = hooks().release_lock;
    auto retake = hooks().retake_lock;
    bool released = let_python_run && release && retake;
    Clock::time_point until = Clock::now() + kInterruptStep;
    if (!for_ever && end < until) until = end;
    machine().waiting++;
    if (released) {
        lock.unlock();
        state = release();
        lock.lock(); // what happened meanwhile is seen by the caller's check: wait only a short step
        until = std::min(until, Clock::now() + std::chrono::milliseconds(2));
    }
    machine().changed.wait_until(lock, until);
    machine().waiting--;
    auto interrupted = hooks().interrupted;
    if (!released && !interrupted) return true;
    lock.unlock();
    if (released) retake(state);
    bool go_on = !interrupted || !interrupted();
    lock.lock();
    return go_on;
}

// Whether a wait goes on between two tasks that it runs itself: asked each kInterruptStep, a queue may take minutes.
bool go_on_running(Lock& lock, Clock::time_point* asked) {
    auto interrupted = hooks().interrupted;
    if (!interrupted || Clock::now() - *asked < kInterruptStep) return true;
    lock.unlock();
    bool go_on = !interrupted();
    lock.lock();
    *asked = Clock::now();
    return go_on;
}

Failure stopped_failure(const Stream& stream) {
    ContextPtr context = stream.context.lock();
    if (stream.dead || !context || !context->alive)
        return {ACL_ERROR_RT_INVALID_HANDLE, "HA302: the stream was destroyed"};
    return context->stopped;
}

} // namespace

Waited run_until(Lock& lock, const Wait& wait) {
    bool for_ever = wait.timeout_ms < 0;
    Clock::time_point asked = Clock::now();
    Clock::time_point end = asked + std::chrono::milliseconds(for_ever ? 0 : wait.timeout_ms);
    while (!wait.done()) {
        if (wait.timeout_ms > 0 && Clock::now() >= end) return Waited::Timeout;
        if (StreamPtr stream = pick(wait.target)) {
            run_first(lock, stream);
            if (!go_on_running(lock, &asked) && !wait.done()) return Waited::Interrupted;
            continue;
        }
        if (!for_ever && Clock::now() >= end) return Waited::Timeout;
        if (!wait_once(lock, for_ever, end, wait.let_python_run)) return Waited::Interrupted;
    }
    if (config().scheduler == Scheduler::Eager) run_ready(lock);
    return Waited::Done;
}

void run_ready(Lock& lock) {
    if (config().scheduler != Scheduler::Eager) return;
    while (StreamPtr stream = pick(nullptr)) run_first(lock, stream);
}

std::function<bool()> done_with_all(const Stream& stream) {
    uint64_t target = stream.submitted;
    return [&stream, target] { return stream.finished >= target; };
}

Code enqueue(Stream& stream, std::unique_ptr<Task>& task, std::shared_ptr<Outcome> outcome) {
    Failure stopped = stopped_failure(stream);
    if (stopped.code) return fail_verbatim(stopped.code, stopped.text);
    task->id = last_task = ++stream.next_task;
    stream.submitted++;
    stream.queue.push_back({std::move(task), std::move(outcome)});
    queued++;
    machine().moved_on();
    return 0;
}

bool try_begin(Stream& stream) {
    if (config().scheduler != Scheduler::Eager || stream.busy || !stream.queue.empty() || stream.dead) return false;
    if (stream.owner->stopped.code) return false;
    stream.busy = true;
    stream.runner = std::this_thread::get_id();
    stream.submitted++;
    stream.running = last_task = ++stream.next_task;
    return true;
}

void finish(Stream& stream, Failure failure, bool keep) {
    if (failure.code) tell_exception(stream, stream.running, failure.code);
    std::deque<Queued> dropped;
    Lock lock = lock_machine();
    end_task(stream, std::move(failure), nullptr, keep, &dropped);
    if (queued) run_ready(lock);
    if (lock.owns_lock()) lock.unlock();
}

Code submit(const StreamPtr& stream, std::unique_ptr<Task> task) {
    Lock lock = lock_machine();
    if (Code code = enqueue(*stream, task)) return code;
    run_ready(lock);
    return 0;
}

Failure submit_and_run(const StreamPtr& stream, std::unique_ptr<Task> task) {
    auto outcome = std::make_shared<Outcome>();
    std::string what = task->describe();
    Lock lock = lock_machine();
    if (waits_for_this_thread(*stream))
        return {ACL_ERROR_RT_PARAM_INVALID,
                "HA310: " + what + " must wait for its stream, and was called from inside a task of that stream"};
    if (Failure stopped = stopped_failure(*stream); stopped.code) return stopped;
    if (Code code = enqueue(*stream, task, outcome)) return {code, "HA302: the stream takes no tasks"};
    Wait wait;
    wait.done = [&] { return outcome->done; };
    wait.target = stream.get();
    wait.let_python_run = true;
    Waited waited = run_until(lock, wait);
    if (waited == Waited::Interrupted)
        return {ACL_ERROR_INTERNAL_ERROR, "HA311: the wait for " + what + " was interrupted"};
    return outcome->failure;
}

void drop_tasks(Stream& stream, const Failure& why, std::deque<Queued>* dropped) {
    for (Queued& task : stream.queue) {
        if (task.outcome) {
            task.outcome->failure = why;
            task.outcome->done = true;
        }
        dropped->push_back(std::move(task));
    }
    stream.finished += stream.queue.size();
    queued -= stream.queue.size();
    stream.queue.clear();
    machine().moved_on();
}

std::string describe_pending(uintptr_t start, uintptr_t end, unsigned uses) {
    std::string found;
    if (queued == 0) return found;
    streams().each([&](Handle, const StreamPtr& stream) {
        for (const Queued& task : stream->queue) {
            if (!found.empty() || !(task.task->uses(start, end) & uses)) continue;
            found = task.task->describe() + format(" of stream %d", stream->id) + submitted_at(task.task->site);
        }
    });
    return found;
}

std::vector<Failure> take_failures(Stream& stream) {
    std::vector<Failure> failures;
    failures.swap(stream.failures);
    stream.submitter = {}; // whoever asks for the failures has waited
    waited_for(stream);
    if (failures.empty())
        if (ContextPtr context = stream.context.lock(); context && context->stopped.code)
            failures.push_back(context->stopped);
    return failures;
}

Code say(const std::vector<Failure>& failures) {
    for (auto failure = failures.rbegin(); failure != failures.rend(); ++failure) {
        untell(failure->text);
        fail_verbatim(failure->code, failure->text);
    }
    return failures.empty() ? 0 : failures.front().code;
}

void leak_queues_after_fork() {
    streams().each([](Handle, const StreamPtr& stream) {
        stream->finished = stream->submitted;
        if (!stream->queue.empty())
            stream->queue.swap(*new std::deque<Queued>); // left there on purpose: no destructor runs
    });
    queued = 0;
}

size_t queued_tasks() { return queued; }
uint32_t thread_last_task() { return last_task; }
void set_exception_callback(ExceptionCallback callback) { exception_callback = callback; }
bool is_current_exception(const void* info) { return info && info == current_exception; }

} // namespace hostacl
