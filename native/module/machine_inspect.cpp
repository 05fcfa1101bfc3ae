
#include "core/checks.hpp"
#include "core/config.hpp"
#include "core/desc.hpp"
#include "core/execute.hpp"
#include "core/findings.hpp"
#include "core/inject.hpp"
#include "core/leaks.hpp"
#include "core/lifecycle.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/saturation.hpp"
#include "module/machine_table.hpp"

#include <dlfcn.h>

namespace hostacl {
namespace {

PyObject* live_objects_call(const Row&, const Args&) {
    LiveObjects live = live_objects();
    size_t handles = live_handles(), desc_count, buffer_count, attr_count;
    {
        Lock lock = lock_machine();
        desc_count = descs().live();
        buffer_count = buffers().live();
        attr_count = attrs().live();
    }
    auto number = [](size_t value) { return static_cast<Py_ssize_t>(value); };
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "descs", number(desc_count), "buffers", number(buffer_count), "attrs",
                         number(attr_count), "handles", number(handles), "contexts", number(live.contexts), "streams", number(live.streams),
                         "events", number(live.events), "device_blocks", number(live.device_blocks), "host_blocks",
                         number(live.host_blocks), "registered", number(live.registered));
}

PyObject* take_messages_call(const Row&, const Args&) {
    const char* text = take_messages();
    return text ? to_python(text) : Py_NewRef(Py_None);
}

PyObject* take_reports_call(const Row&, const Args&) {
    Ref list = Ref::take(PyList_New(0));
    for (const Report& item : take_reports()) {
        Ref entry = Ref::take(Py_BuildValue("(sNNNiK)", item.rule.c_str(), to_python(item.function.c_str()), to_python(item.text.c_str()),
                                            to_python(item.site.c_str()), static_cast<int>(item.code),
                                            static_cast<unsigned long long>(item.count)));
        if (!list || !entry || PyList_Append(list.get(), entry.get()) < 0) return nullptr;
    }
    return list.release();
}

// report_leaks(): reports what is alive, by kind; the number of kinds.
PyObject* report_leaks_call(const Row&, const Args&) { return to_python(report_leaks()); }

PyObject* take_reports_json_call(const Row&, const Args&) { return to_python(take_reports_json().c_str()); }

PyObject* clear_messages_call(const Row&, const Args&) {
    clear_messages();
    return Py_NewRef(Py_None);
}

// fail(function, code, rule, text): keeps a text of the face's own, as the core does; the code.
PyObject* fail_call(const Row&, const Args& args) {
    auto code = args.integer<int32_t>(1);
    return to_python(fail_verbatim(code, format("%s: %s(): %s", args.text(2), args.text(0), args.text(3))));
}

PyObject* report_call(const Row&, const Args& args) {
    if (args.count() > 2) report_of(args.text(2), args.text(0), args.text(1)); // about a function of the face's own
    else report(args.text(0), args.text(1));
    return Py_NewRef(Py_None);
}

PyObject* configure_call(const Row&, const Args& args) { return to_python(configure(args.text(0), args.text(1))); }

PyObject* setting_call(const Row&, const Args& args) { return to_python(setting(args.text(0)).c_str()); }

PyObject* asked_for_call(const Row&, const Args& args) { return to_python(asked_for(args.text(0))); }

PyObject* is_live_call(const Row&, const Args& args) {
    Lock lock = lock_machine();
    return to_python(is_live(args.integer<uint64_t>(0), args.integer<uint64_t>(1)));
}

PyObject* drop_plans_call(const Row&, const Args& args) {
    drop_plans(args.integer<uint64_t>(0));
    return Py_NewRef(Py_None);
}

PyObject* plan_last_use_call(const Row&, const Args& args) { return to_python(plan_last_use(args.integer<uint64_t>(0))); }

PyObject* next_use_call(const Row&, const Args&) { return to_python(next_use()); }

// inject_call(code, name): the next call of a function, by its C name or pyACL's, fails; 0 when there is none of that name.
PyObject* inject_call_call(const Row&, const Args& args) {
    const char* name = args.text(1);
    const Row* found = find_row(name);
    bool there = found ? found->target != nullptr : dlsym(RTLD_DEFAULT, ("hacl_" + std::string(name)).c_str()) != nullptr;
    return to_python(there ? inject_call(args.integer<int32_t>(0), found ? found->name : name) : uint64_t{0});
}

// inject_operator(code, nth): the nth operator handed to a stream from now on fails.
PyObject* inject_operator_call(const Row&, const Args& args) {
    return to_python(inject_operator(args.integer<int32_t>(0), args.integer<int64_t>(1)));
}

PyObject* forget_injection_call(const Row&, const Args& args) { return to_python(forget_injection(args.integer<uint64_t>(0))); }

// raise_in_thread(thread_id, exception): raised at that thread's next Python instruction; whether there is such a thread.
PyObject* raise_in_thread_call(const Row&, const Args& args) {
    if (!PyExceptionClass_Check(args[1])) args.refuse(1, -1, "an exception class", args[1]);
    return to_python(PyThreadState_SetAsyncExc(args.integer<unsigned long>(0), args[1]) > 0);
}

PyObject* overflow_seen_call(const Row&, const Args&) { return to_python(overflow_seen()); }

PyObject* clear_overflow_call(const Row&, const Args&) {
    clear_overflow();
    return Py_NewRef(Py_None);
}

PyObject* watch_overflow_call(const Row&, const Args&) {
    watch_overflow();
    return Py_NewRef(Py_None);
}

PyObject* reset_call(const Row&, const Args&) {
    {
        Waiting waiting(true);
        {
            Lock lock = lock_machine();
            descs().clear();
            buffers().clear();
            attrs().clear();
        }
        clear_handles();
        drop_plans(0);
        reset_machine();
        forget_overflow();
    }
    return Py_NewRef(Py_None);
}

} // namespace

void add_inspect_rows(Rows& rows) {
    rows.insert(rows.end(), {
        {"live_objects", "live_objects", live_objects_call, {}, 0},
        {"take_messages", "take_messages", take_messages_call, {}, 0},
        {"take_reports", "take_reports", take_reports_call, {}, 0},
        {"report_leaks", "hostacl.report_leaks", report_leaks_call, {}, 0},
        {"take_reports_json", "take_reports_json", take_reports_json_call, {}, 0},
        {"clear_messages", "clear_messages", clear_messages_call, {}, 0},
        {"fail", "fail", fail_call, {"function", "code", "rule", "text"}, 4},
        {"report", "report", report_call, {"rule", "text", "function"}, 2},
        {"configure", "hostacl.configure", configure_call, {"name", "value"}, 2},
        {"setting", "setting", setting_call, {"name"}, 1},
        {"asked_for", "asked_for", asked_for_call, {"rule"}, 1},
        {"raise_in_thread", "raise_in_thread", raise_in_thread_call, {"thread_id", "exception"}, 2},
        {"inject_call", "inject_call", inject_call_call, {"code", "name"}, 2},
        {"inject_operator", "inject_operator", inject_operator_call, {"code", "nth"}, 2},
        {"forget_injection", "forget_injection", forget_injection_call, {"number"}, 1},
        {"is_live", "is_live", is_live_call, {"address", "size"}, 2},
        {"drop_plans", "drop_plans", drop_plans_call, {"model"}, 1},
        {"plan_last_use", "plan_last_use", plan_last_use_call, {"model"}, 1},
        {"next_use", "next_use", next_use_call, {}, 0},
        {"overflow_seen", "overflow_seen", overflow_seen_call, {}, 0},
        {"clear_overflow", "clear_overflow", clear_overflow_call, {}, 0},
        {"watch_overflow", "watch_overflow", watch_overflow_call, {}, 0},
        {"reset", "hostacl.reset", reset_call, {}, 0},
    });
}

} // namespace hostacl
