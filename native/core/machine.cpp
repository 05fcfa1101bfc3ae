#include "core/machine.hpp"

#include "core/context.hpp"
#include "core/findings.hpp"
#include "core/memory.hpp"
#include "core/log.hpp"
#include "core/message.hpp"
#include "core/sites.hpp"

#include <pthread.h>

#include <new>

namespace hostacl {
namespace {

void before_fork() {
    machine().mutex.lock();
    lock_arena();
    lock_messages();
    lock_findings();
    lock_sites();
    lock_log();
}

void after_fork_in_parent() {
    unlock_log();
    unlock_sites();
    unlock_findings();
    unlock_messages();
    unlock_arena();
    machine().mutex.unlock();
}

// The threads that could have held or waited for a lock are gone: the locks start anew.
void after_fork_in_child() {
    rebuild_log_lock();
    rebuild_sites_lock();
    rebuild_findings_lock();
    rebuild_message_lock();
    rebuild_arena_lock();
    new (&machine().mutex) std::mutex;
    new (&machine().changed) std::condition_variable;
    machine().waiting = 0;
    forget_contexts_after_fork();
}

Machine* make_machine() {
    static Machine* made = new Machine; // never destroyed: exit handlers call in late
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
}

} // namespace

Machine& machine() {
    static Machine& the_machine = *make_machine();
    return the_machine;
}

void Machine::moved_on() {
    if (waiting > 0) changed.notify_all();
}

} // namespace hostacl
