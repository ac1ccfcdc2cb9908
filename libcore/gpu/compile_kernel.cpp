// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/compile_kernel.hpp"

#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "aperture/core/error.hpp"

namespace aperture::core {

namespace {

namespace fs = std::filesystem;

/// FNV-1a, 64 bits.
std::uint64_t hash(std::string_view bytes, std::uint64_t state = 0xcbf29ce484222325u) {
    for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return state;
}

std::vector<std::string> compiler_options(int compute_capability) {
    // Generic lambdas of kernels count as host functions otherwise.
    return {text("--gpu-architecture=sm_", compute_capability), "--std=c++20", "-DNDEBUG",
            "--device-as-default-execution-space"};
}

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The functions of NVRTC in use.
struct Nvrtc {
#define APERTURE_NVRTC_FUNCTIONS(X) \
    X(nvrtcVersion)                 \
    X(nvrtcGetErrorString)          \
    X(nvrtcCreateProgram)           \
    X(nvrtcDestroyProgram)          \
    X(nvrtcAddNameExpression)       \
    X(nvrtcCompileProgram)          \
    X(nvrtcGetLoweredName)          \
    X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)
#define APERTURE_DECLARE(function) decltype(&::function) function = nullptr;
    APERTURE_NVRTC_FUNCTIONS(APERTURE_DECLARE)
#undef APERTURE_DECLARE

    /// False if this machine does not have it.
    bool load() {
        if (variable("APERTURE_NVRTC") == "off") return false;
        void* const library = dlopen(APERTURE_NVRTC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return false;
        bool complete = true;
#define APERTURE_LOAD(function)                                                    \
    function = reinterpret_cast<decltype(&::function)>(dlsym(library, #function)); \
    complete = complete && function != nullptr;
        APERTURE_NVRTC_FUNCTIONS(APERTURE_LOAD)
#undef APERTURE_LOAD
#undef APERTURE_NVRTC_FUNCTIONS
        return complete;
    }
};

/// Loaded on first use, not with the program: slower kernels exist for what it compiles. Null if
/// not available.
const Nvrtc* nvrtc() {
    static Nvrtc functions;
    static const bool loaded = functions.load();
    return loaded ? &functions : nullptr;
}

void check_nvrtc(const Nvrtc& api, nvrtcResult result, const char* call) {
    if (result != NVRTC_SUCCESS) {
        throw DeviceError(text(call, ": ", api.nvrtcGetErrorString(result)));
    }
}
#define APERTURE_NVRTC_TRY(call) check_nvrtc(api_, api_.call, #call)

class Program {
  public:
    Program(const Nvrtc& api, const KernelSource& source) : api_(api) {
        std::vector<const char*> names, texts;
        for (const auto& library : source.texts) {
            for (const KernelText& file : library) {
                names.push_back(file.name);
                texts.push_back(file.text);
            }
        }
        const std::string program =
            source.root_text.empty() ? "#include \"" + source.root + "\"\n" : source.root_text;
        APERTURE_NVRTC_TRY(nvrtcCreateProgram(&handle_, program.c_str(), "aperture_kernel.cu",
                                              static_cast<int>(names.size()), texts.data(),
                                              names.data()));
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { api_.nvrtcDestroyProgram(&handle_); }

    /// Empty if the compiler is incomplete or does not know the architecture.
    std::optional<CompiledKernel> compile(const std::string& expression, int compute_capability) {
        APERTURE_NVRTC_TRY(nvrtcAddNameExpression(handle_, expression.c_str()));
        const std::vector<std::string> options = compiler_options(compute_capability);
        std::vector<const char*> pointers;
        for (const std::string& option : options) pointers.push_back(option.c_str());
        const nvrtcResult result =
            api_.nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
        if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ||
            result == NVRTC_ERROR_INVALID_OPTION) {
            return std::nullopt;
        }
        if (result != NVRTC_SUCCESS) {
            throw CompileError(expression, log());
        }
        const char* name = nullptr;
        APERTURE_NVRTC_TRY(nvrtcGetLoweredName(handle_, expression.c_str(), &name));
        std::size_t size = 0;
        APERTURE_NVRTC_TRY(nvrtcGetCUBINSize(handle_, &size));
        CompiledKernel compiled{name, std::string(size, '\0'), false};
        APERTURE_NVRTC_TRY(nvrtcGetCUBIN(handle_, compiled.cubin.data()));
        return compiled;
    }

  private:
    std::string log() const {
        std::size_t size = 0;
        APERTURE_NVRTC_TRY(nvrtcGetProgramLogSize(handle_, &size));
        std::string words(size, '\0');
        APERTURE_NVRTC_TRY(nvrtcGetProgramLog(handle_, words.data()));
        while (!words.empty() && (words.back() == '\0' || words.back() == '\n')) words.pop_back();
        return words;
    }

    const Nvrtc& api_;
    nvrtcProgram handle_ = nullptr;
};

/// Empty if no cache can be used.
fs::path cache_file(const std::string& key) {
    if (variable("APERTURE_CACHE") == "off") return {};
    fs::path folder = variable("XDG_CACHE_HOME");
    // The XDG base directory specification: a relative path must be ignored.
    if (!folder.is_absolute()) {
        if (variable("HOME").empty()) return {};
        folder = fs::path(variable("HOME")) / ".cache";
    }
    return folder / "aperture" / (key + ".cubin");
}

/// What tells kernels apart whose files have one name, because their hashes are equal. The files of
/// libraries are not in it: these are few, and change only with the build.
std::string identity(const KernelSource& source, const std::string& expression) {
    return text(source.root, '\n', expression, '\n', source.root_text);
}

// A cache file: a line with the hash of all that follows, a line with the length of the identity,
// the identity, a line with the kernel's name, then the machine code.
std::optional<CompiledKernel> read_cache(const fs::path& path, const std::string& identity) {
    std::ifstream file(path, std::ios::binary);
    if (path.empty() || !file) return std::nullopt;
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    std::string_view rest = all;
    const auto line = [&rest] {
        const std::string_view first = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(first.size() + 1, rest.size()));
        return first;
    };
    const std::string_view checksum = line();
    if (checksum != text(hash(rest))) return std::nullopt;
    const std::string_view length = line();
    if (length != text(identity.size()) || !rest.starts_with(identity)) return std::nullopt;
    rest.remove_prefix(identity.size());
    const std::string name(line());
    return CompiledKernel{name, std::string(rest), true};
}

void write_cache(const fs::path& path, const std::string& identity, const CompiledKernel& kernel) {
    if (path.empty()) return;
    static std::atomic<unsigned> number = 0;
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    const fs::path beside = text(path.string(), ".", getpid(), ".", number++);
    const std::string hashed =
        text(identity.size(), '\n', identity, kernel.name, '\n', kernel.cubin);
    std::ofstream file(beside, std::ios::binary);
    file << hash(hashed) << '\n' << hashed;
    file.close();
    if (file) fs::rename(beside, path, ignored);
    if (!file || ignored) fs::remove(beside, ignored);
}

/// A hash of everything that the machine code depends on.
std::string fingerprint(const Nvrtc& api, const KernelSource& source, const std::string& expression,
                        int compute_capability) {
    int major = 0, minor = 0;
    check_nvrtc(api, api.nvrtcVersion(&major, &minor), "nvrtcVersion");
    std::uint64_t state = hash(text(identity(source, expression), '\n', major, '.', minor, '\n'));
    for (const std::string& option : compiler_options(compute_capability)) {
        state = hash(option + '\n', state);
    }
    for (const auto& library : source.texts) {
        for (const KernelText& file : library) {
            state = hash(text(file.name, '\n', file.text, '\n'), state);
        }
    }
    std::ostringstream digits;
    digits << std::hex << std::setw(16) << std::setfill('0') << state;
    return digits.str();
}

}  // namespace

std::optional<CompiledKernel> compile_kernel(const KernelSource& source,
                                             const std::string& expression,
                                             int compute_capability) {
    const Nvrtc* const api = nvrtc();
    if (api == nullptr) return std::nullopt;
    const fs::path file = cache_file(fingerprint(*api, source, expression, compute_capability));
    const std::string its_identity = identity(source, expression);
    if (auto cached = read_cache(file, its_identity)) return cached;
    const auto compiled = Program(*api, source).compile(expression, compute_capability);
    if (compiled) write_cache(file, its_identity, *compiled);
    return compiled;
}

}  // namespace aperture::core
