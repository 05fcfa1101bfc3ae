#include "core/sites.hpp"

#include "core/checks.hpp"
#include "core/message.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace hostacl {
namespace {

struct Lines {
    std::mutex mutex;
    std::map<const void*, std::string> known;     // by return address
    std::map<std::string, bool> with_debug_lines; // by file
    std::map<std::string, std::string> names;     // of C++ functions, by symbol
};

Lines& lines() {
    static Lines& the_lines = *new Lines;
    return the_lines;
}

struct Child {
    const char* const* arguments;
    int output;
};

int run_child(void* given) {
    auto* child = static_cast<Child*>(given);
    int nowhere = ::open("/dev/null", O_RDWR);
    if (::dup2(child->output, STDOUT_FILENO) < 0 || ::dup2(nowhere, STDERR_FILENO) < 0) ::_exit(127);
    ::execvp(child->arguments[0], const_cast<char* const*>(child->arguments));
    ::_exit(127);
}

bool read_at(int file, uint64_t offset, void* into, size_t size) {
    return ::pread(file, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// Whether an ELF file of this machine has a section .debug_line: without it there is nothing to ask for.
bool find_debug_lines(int file) {
    Elf64_Ehdr head;
    if (!read_at(file, 0, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= head.e_shnum) return false;
    std::vector<Elf64_Shdr> sections(head.e_shnum);
    if (!read_at(file, head.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return false;
    const Elf64_Shdr& names = sections[head.e_shstrndx];
    if (names.sh_size > (1u << 20)) return false;
    std::string text(names.sh_size, '\0');
    return read_at(file, names.sh_offset, text.data(), text.size()) && text.find(".debug_line") != std::string::npos;
}

// Lock held.
bool has_debug_lines(const char* path) {
    auto [at, is_new] = lines().with_debug_lines.try_emplace(path);
    if (!is_new) return at->second;
    int file = ::open(path, O_RDONLY | O_CLOEXEC);
    at->second = file >= 0 && find_debug_lines(file);
    if (file >= 0) ::close(file);
    return at->second;
}

std::string read_all(int input) {
    std::string text;
    char part[512];
    for (ssize_t size; (size = ::read(input, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(size));
    return text;
}

// What a command prints. Its end sends the program no signal, and the program's own wait() does not see it. No handler of the
// program's runs in the child, which shares its memory until it is the command.
std::string output_of(const char* const* arguments) {
    constexpr size_t kStack = 256 << 10;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return "";
    std::vector<char> stack(kStack);
    Child child{arguments, ends[1]};
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    int pid = ::clone(run_child, stack.data() + kStack, CLONE_VM | CLONE_VFORK, &child);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(ends[1]);
    std::string text = pid > 0 ? read_all(ends[0]) : "";
    ::close(ends[0]);
    if (pid > 0) ::waitpid(pid, nullptr, __WCLONE);
    return text;
}

// "main.c:12", or "" when there is no debug information, or nothing that reads it.
std::string source_line(const Dl_info& info, const void* return_address) {
    bool fixed = reinterpret_cast<uintptr_t>(info.dli_fbase) == 0x400000; // a program that is not position independent
    uintptr_t call = reinterpret_cast<uintptr_t>(return_address) - 1;
    std::string address = format("0x%zx", static_cast<size_t>(fixed ? call : call - reinterpret_cast<uintptr_t>(info.dli_fbase)));
    const char* arguments[] = {"addr2line", "-s", "-e", info.dli_fname, address.c_str(), nullptr};
    std::string line = output_of(arguments);
    line.resize(std::min(line.find_first_of(" \n"), line.size()));
    return line.find('?') == std::string::npos && line.find(':') != std::string::npos ? line : "";
}

std::string known_line(const Dl_info& info, const void* return_address) {
    std::lock_guard<std::mutex> guard(lines().mutex);
    auto [at, is_new] = lines().known.try_emplace(return_address);
    if (is_new && has_debug_lines(info.dli_fname)) at->second = source_line(info, return_address);
    return at->second;
}

// "net::Layer::run" of _ZN3net5Layer3runEi: a C++ function's name without its parameters; any other name as it is.
std::string written_name(const char* symbol) {
    int status = 0;
    char* words = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = words ? words : symbol;
    std::free(words);
    size_t end = words ? name.rfind(')') : std::string::npos, depth = 0;
    for (size_t at = end; end != std::string::npos && at > 0; at--) {
        depth += name[at] == ')';
        depth -= name[at] == '(';
        if (depth == 0) return name.substr(0, at);
    }
    return name;
}

std::string function_name(const char* symbol) {
    if (std::strncmp(symbol, "_Z", 2) != 0) return symbol;
    std::lock_guard<std::mutex> guard(lines().mutex);
    auto [at, is_new] = lines().names.try_emplace(symbol);
    if (is_new) at->second = written_name(symbol);
    return at->second;
}

} // namespace

std::string c_site(const void* caller) {
    Dl_info info{};
    if (!caller || !::dladdr(caller, &info) || !info.dli_fname) return "";
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* file = slash ? slash + 1 : info.dli_fname;
    auto address = reinterpret_cast<uintptr_t>(caller);
    std::string place = info.dli_sname
                            ? format("%s+0x%zx", function_name(info.dli_sname).c_str(), address - reinterpret_cast<uintptr_t>(info.dli_saddr))
                            : format("%s+0x%zx", file, address - reinterpret_cast<uintptr_t>(info.dli_fbase));
    std::string line = checking(kOrigins) ? known_line(info, caller) : "";
    if (!line.empty()) return line + " (" + place + ")";
    return info.dli_sname ? place + " (" + file + ")" : place;
}

void lock_sites() { lines().mutex.lock(); }
void unlock_sites() { lines().mutex.unlock(); }
void rebuild_sites_lock() { new (&lines().mutex) std::mutex; }

} // namespace hostacl
