// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/compile_kernel.hpp"

#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"
#include "libcore/cache_folder.hpp"
#include "libcore/count_compilation.hpp"

namespace aperture::core {

namespace {

std::vector<std::string> compiler_options(const KernelSource& source, int compute_capability) {
    // Generic lambdas of kernels count as host functions otherwise.
    std::vector<std::string> options{text("--gpu-architecture=sm_", compute_capability),
                                     "--std=c++20", "-DNDEBUG",
                                     "--device-as-default-execution-space"};
    options.insert(options.end(), source.options.begin(), source.options.end());
    return options;
}

std::string joined(const std::vector<std::string>& expressions) {
    std::string all;
    for (const std::string& expression : expressions) {
        all += text(all.empty() ? "" : ", ", expression);
    }
    return all;
}

/// The number of texts, and each with its length: different lists never give one result.
std::string framed(const std::vector<std::string>& texts) {
    std::string all = text(texts.size(), '\n');
    for (const std::string& its : texts) all += text(its.size(), '\n', its, '\n');
    return all;
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
        const char* const setting = std::getenv("APERTURE_NVRTC");
        if (setting != nullptr && std::string_view(setting) == "off") return false;
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

    /// Empty if the compiler is incomplete or does not know the architecture or an option.
    std::optional<CompiledKernels> compile(const std::vector<std::string>& expressions,
                                           const std::vector<std::string>& options) {
        for (const std::string& expression : expressions) {
            APERTURE_NVRTC_TRY(nvrtcAddNameExpression(handle_, expression.c_str()));
        }
        std::vector<const char*> pointers;
        for (const std::string& option : options) pointers.push_back(option.c_str());
        const nvrtcResult result =
            api_.nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
        if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ||
            result == NVRTC_ERROR_INVALID_OPTION) {
            return std::nullopt;
        }
        if (result != NVRTC_SUCCESS) throw CompileError(joined(expressions), log());
        CompiledKernels compiled;
        for (const std::string& expression : expressions) {
            const char* name = nullptr;
            APERTURE_NVRTC_TRY(nvrtcGetLoweredName(handle_, expression.c_str(), &name));
            compiled.names.emplace_back(name);
        }
        std::size_t size = 0;
        APERTURE_NVRTC_TRY(nvrtcGetCUBINSize(handle_, &size));
        compiled.cubin.resize(size);
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

/// All that the machine code depends on. The files of libraries are in it as a hash: they are much
/// text, which only changes with the build. What is made at run time is there itself, because two
/// texts of one hash must not be taken for each other.
std::string identity(const Nvrtc& api, const KernelSource& source,
                     const std::vector<std::string>& expressions,
                     const std::vector<std::string>& options) {
    int major = 0, minor = 0;
    check_nvrtc(api, api.nvrtcVersion(&major, &minor), "nvrtcVersion");
    return text("NVRTC ", major, '.', minor, ", files ", text_hash(source.texts), '\n',
                framed(options), framed(expressions), framed({source.root, source.root_text}));
}

// A cache file has the kernels' names, a line each, then the machine code.
constexpr const char* cache_extension = ".cubin";

std::optional<CompiledKernels> read_cache(const CacheFolder& cache, const std::string& identity,
                                          std::size_t kernels) {
    const auto contents = cache.read(cache_extension, identity);
    if (!contents) return std::nullopt;
    CompiledKernels compiled;
    std::size_t begin = 0;
    while (compiled.names.size() < kernels) {
        const std::size_t end = contents->find('\n', begin);
        compiled.names.push_back(contents->substr(begin, end - begin));
        begin = end + 1;
    }
    compiled.cubin = contents->substr(begin);
    compiled.from_cache = true;
    return compiled;
}

void write_cache(const CacheFolder& cache, const std::string& identity,
                 const CompiledKernels& compiled) {
    std::string contents;
    for (const std::string& name : compiled.names) contents += name + '\n';
    cache.write(cache_extension, identity, contents + compiled.cubin);
}

}  // namespace

std::optional<CompiledKernels> compile_kernels(const KernelSource& source,
                                               const std::vector<std::string>& expressions,
                                               int compute_capability) {
    const Nvrtc* const api = nvrtc();
    if (api == nullptr) return std::nullopt;
    const Stopwatch watch;
    const auto kernels = static_cast<long long>(expressions.size());
    const std::vector<std::string> options = compiler_options(source, compute_capability);
    const std::string its_identity = identity(*api, source, expressions, options);
    const std::optional<CacheFolder> cache = CacheFolder::open();
    if (cache) {
        if (auto cached = read_cache(*cache, its_identity, expressions.size())) {
            count_compilation({.from_cache = kernels, .ms = watch.ms()});
            return cached;
        }
    }
    auto compiled = Program(*api, source).compile(expressions, options);
    if (compiled && cache) write_cache(*cache, its_identity, *compiled);
    if (compiled) count_compilation({.compiled = kernels, .ms = watch.ms()});
    return compiled;
}

}  // namespace aperture::core
