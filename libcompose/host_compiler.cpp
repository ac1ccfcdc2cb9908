// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/host_compiler.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <string_view>
#include <tuple>

#include "aperture/core/error.hpp"
#include "libcompose/child_process.hpp"
#include "libcompose/private_folder.hpp"
#include "libcore/cache_folder.hpp"
#include "libcore/count_compilation.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_libraries = 128;
constexpr const char* extension = ".so";

double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Why there is no library.
struct Failure {
    std::string reason;
};

struct Compiler {
    std::string path;
    /// What it says about itself.
    std::string version;
    bool is_clang() const { return version.find("clang") != std::string::npos; }
};

bool is_executable(const char* path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path, X_OK) == 0;
}

std::string compiler_path() {
    const char* const variable = std::getenv("APERTURE_CXX");
    if (variable != nullptr && *variable != '\0') {
        std::string path = variable;
        if (path == "off") throw Failure{"APERTURE_CXX is off"};
        core::expects(fs::path(path).is_absolute(), "APERTURE_CXX is ", path,
                      ", expected the absolute path of a compiler, or off");
        if (is_executable(path.c_str())) return path;
        throw Failure{core::text("APERTURE_CXX: ", path, " is no program")};
    }
    for (const char* path : {
#if defined(APERTURE_HOST_COMPILER)
             APERTURE_HOST_COMPILER,
#endif
                 "/usr/bin/g++", "/usr/bin/c++", "/usr/bin/clang++", "/usr/local/bin/g++",
                 "/usr/local/bin/c++", "/usr/local/bin/clang++"
         }) {
        if (is_executable(path)) return path;
    }
    throw Failure{"there is no C++ compiler in /usr/bin or /usr/local/bin"};
}

/// Runs the compiler in a folder that keeps its temporary files, too.
ChildEnd run_compiler(const std::string& path, std::vector<std::string> arguments,
                      const fs::path& folder, std::chrono::milliseconds limit) {
    arguments.insert(arguments.begin(), path);
    ChildEnd end = run_child(
        arguments, folder, {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + folder.string()}, limit);
    if (!end.failure.empty()) throw Failure{end.failure};
    return end;
}

[[noreturn]] void fail_with_output(const std::string& path, const ChildEnd& end) {
    constexpr std::size_t most = 2000;
    throw Failure{core::text(path, " failed with status ", end.exit_status, ":\n",
                             std::string_view(end.output).substr(0, most))};
}

Compiler compiler(std::chrono::milliseconds limit) {
    static std::mutex mutex;
    static std::map<std::string, std::string> versions;
    const std::string path = compiler_path();
    const std::scoped_lock lock(mutex);
    std::string& version = versions[path];
    if (version.empty()) {
        const ChildEnd end = run_compiler(path, {"--version"}, "/", limit);
        if (end.exit_status != 0 || end.output.empty()) fail_with_output(path, end);
        version = end.output;
    }
    return {path, version};
}

/// The largest set of instructions with a name that this processor has.
std::vector<std::string> level_of_processor() {
#if defined(__x86_64__)
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) return {"-march=x86-64-v4"};
    if (v3) return {"-march=x86-64-v3"};
    if (v2) return {"-march=x86-64-v2"};
#endif
    return {};
}

std::vector<std::string> compiler_options(const Compiler& compiler, const HostSource& source) {
    std::vector<std::string> options{
        "-std=c++20", "-O3", "-fPIC",   "-shared", "-fno-math-errno",    "-ffp-contract=off",
        "-pipe",      "-w",  "-iquote", ".",       "-fvisibility=hidden"};
    // Unique symbols would keep libraries from being unloaded.
    if (!compiler.is_clang()) options.emplace_back("-fno-gnu-unique");
#if defined(APERTURE_HOST_SANITIZERS)
    for (const char* option : {APERTURE_HOST_SANITIZERS}) options.emplace_back(option);
#else
    options.emplace_back("-DNDEBUG");
#endif
    options.insert(options.end(), source.options.begin(), source.options.end());
    return options;
}

/// All that the machine code depends on. The files of libraries are in it as a hash: they are much
/// text, which only changes with the build.
std::string identity(const Compiler& compiler, const HostSource& source) {
    std::string all;
    const auto add = [&all](std::string_view part) {
        all += std::to_string(part.size());
        all += ':';
        all += part;
        all += '\n';
    };
    add(compiler.path);
    add(compiler.version);
    add(processor());
    for (const std::string& option : compiler_options(compiler, source)) add(option);
    for (const std::string& function : source.functions) add(function);
    add(source.text);
    add(std::to_string(core::text_hash(source.texts)));
    return all;
}

/// The text, and a function for each that the caller wants, whose name is known.
std::string whole_text(const HostSource& source) {
    std::string all = source.text + "\n#line 1 \"functions\"\n";
    for (std::size_t i = 0; i < source.functions.size(); ++i) {
        all += core::text(
            "extern \"C\" __attribute__((visibility(\"default\"))) void* "
            "aperture_function_",
            i, "() { return reinterpret_cast<void*>(&", source.functions[i], "); }\n");
    }
    return all;
}

/// The shared object.
std::string compile(const Compiler& compiler, const HostSource& source) {
    const PrivateFolder folder;
    if (!folder.failure().empty()) throw Failure{folder.failure()};
    const auto write = [&](const std::string& name, std::string_view contents) {
        if (std::string failure = folder.write(name, contents); !failure.empty()) {
            throw Failure{std::move(failure)};
        }
    };
    for (const auto& library : source.texts) {
        for (const core::KernelText& file : library) {
            const fs::path name = file.name;
            core::expects(
                name.is_relative() && name.lexically_normal() == name && *name.begin() != "..",
                "a file for the compiler is named ", file.name,
                ", expected a path from a folder of sources");
            write(file.name, file.text);
        }
    }
    write("kernel.cpp", whole_text(source));

    const auto run = [&](const std::vector<std::string>& processor_options) {
        std::vector<std::string> arguments = compiler_options(compiler, source);
        arguments.insert(arguments.end(), processor_options.begin(), processor_options.end());
        arguments.insert(arguments.end(), {"kernel.cpp", "-o", "kernel.so"});
        return run_compiler(compiler.path, std::move(arguments), folder.path(), source.limit);
    };
    ChildEnd end = run({"-march=native"});
    if (end.exit_status != 0 && (end.output.find("-march=") != std::string::npos ||
                                 end.output.find("target CPU") != std::string::npos)) {
        end = run(level_of_processor());
    }
    if (end.exit_status != 0) {
        // Only errors of the text have a line; "fatal error" is about files and disks.
        static const std::regex of_text(":[0-9]+: error: ");
        if (std::regex_search(end.output, of_text)) {
            throw core::CompileError(source.functions.front(), end.output);
        }
        fail_with_output(compiler.path, end);
    }
    std::ifstream file(folder.path() / "kernel.so", std::ios::binary);
    std::string object{std::istreambuf_iterator<char>(file), {}};
    if (object.empty()) throw Failure{core::text(compiler.path, " wrote no shared object")};
    return object;
}

/// From disk, or compiled. Throws Failure.
HostCompiled load_or_compile(const Compiler& compiler, const HostSource& source) {
    const std::string its_identity = identity(compiler, source);
    // Code for an unknown processor must not stay where another machine may find it.
    const std::optional<core::CacheFolder> cache =
        processor().empty() ? std::nullopt : core::CacheFolder::open();
    std::string reason;
    if (cache) {
        if (const auto object = cache->read(extension, its_identity)) {
            if (auto library = HostLibrary::load(*object, source.functions, reason)) {
                return {std::move(library), {}, true};
            }
        }
    }
    const std::string object = compile(compiler, source);
    auto library = HostLibrary::load(object, source.functions, reason);
    if (library == nullptr) throw Failure{reason};
    if (cache) cache->write(extension, its_identity, object);
    return {std::move(library)};
}

/// What this process has compiled. Texts of files are known by their addresses.
class Libraries {
  public:
    struct Entry {
        /// Held while the library is compiled.
        std::mutex mutex;
        std::shared_ptr<const HostLibrary> loaded;
        std::uint64_t last_use = 0;
    };

    std::shared_ptr<Entry> entry(const std::string& compiler_path, const HostSource& source) {
        std::vector<const core::KernelText*> texts;
        for (const auto& library : source.texts) texts.push_back(library.data());
        const std::scoped_lock lock(mutex_);
        auto& found = entries_[{compiler_path, source.text, source.functions, source.options,
                                std::move(texts)}];
        if (found == nullptr) found = std::make_shared<Entry>();
        found->last_use = ++uses_;
        std::shared_ptr<Entry> result = found;
        if (entries_.size() > most_libraries) {
            entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                            [](const auto& a, const auto& b) {
                                                return a.second->last_use < b.second->last_use;
                                            }));
        }
        return result;
    }

  private:
    using Key = std::tuple<std::string, std::string, std::vector<std::string>,
                           std::vector<std::string>, std::vector<const core::KernelText*>>;
    std::mutex mutex_;
    std::map<Key, std::shared_ptr<Entry>> entries_;
    std::uint64_t uses_ = 0;
};

HostCompiled compiled(const HostSource& source) {
    // Never destroyed: threads may run kernels until the process ends.
    static auto& libraries = *new Libraries;
    const auto entry = libraries.entry(compiler_path(), source);
    const std::scoped_lock lock(entry->mutex);
    if (entry->loaded != nullptr) return {entry->loaded, {}, true};
    const Clock::time_point begin = Clock::now();
    HostCompiled result = load_or_compile(compiler(source.limit), source);
    core::count_compilation({!result.from_cache, result.from_cache, ms_since(begin)});
    entry->loaded = result.loaded;
    return result;
}

}  // namespace

const std::string& processor() {
    static const std::string words = [] {
        std::string all;
        std::ifstream file("/proc/cpuinfo");
        // The first processor; an empty line follows.
        for (std::string line; std::getline(file, line) && !line.empty();) {
            for (const char* name : {"vendor_id", "cpu family", "model", "flags", "CPU implementer",
                                     "CPU part", "CPU variant", "Features"}) {
                if (line.starts_with(name)) all += line + '\n';
            }
        }
        return all;
    }();
    return words;
}

HostCompiled compile_on_host(const HostSource& source) {
    core::expects(!source.functions.empty(), "a text for the compiler names no function");
    const Clock::time_point begin = Clock::now();
    HostCompiled result;
    try {
        result = compiled(source);
    } catch (Failure& failure) {
        result.reason = std::move(failure.reason);
    }
    result.ms = ms_since(begin);
    return result;
}

}  // namespace aperture::compose
