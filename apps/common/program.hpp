// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aperture/core/choices.hpp"
#include "aperture/core/error.hpp"
#include "aperture/core/executor.hpp"
#include "apps/common/console.hpp"

namespace aperture::apps {

inline constexpr int exit_input = 1;       ///< input or usage
inline constexpr int exit_internal = 2;    ///< device or internal
inline constexpr int exit_incomplete = 3;  ///< with --strict: an incomplete result

/// Runs `body` and returns its exit status. Exceptions become one line on stderr, "program: error:
/// ...", and the status exit_input (core::InvalidArgument) or exit_internal (all others).
int run_program(const std::string& program, const std::function<int()>& body);

/// How a program was started; for reports and result files.
struct Invocation {
    std::string program;
    std::string command_line;  ///< its words, separated by spaces
    std::string started;       ///< UTC, "2026-11-25T14:31:20Z"
};
Invocation invocation(const std::string& program, int argc, char** argv);

/// --out, --report, --threads, --quiet, --verbose, --strict and --version, common to all programs.
struct CommonOptions {
    Invocation invocation;
    std::filesystem::path out;
    std::optional<std::filesystem::path> report;  ///< "-": standard output
    int threads = 0;                              ///< 0: OpenMP's default
    bool quiet = false;
    bool verbose = false;
    bool strict = false;  ///< an incomplete result is a failure

    bool report_on_stdout() const { return report == std::filesystem::path("-"); }
};

/// The main function of a program: calls `run(options, cpu, console)` with the options that `parse`
/// returns, and returns the exit status: exit_incomplete if a result is incomplete and the options
/// are strict. Does nothing more if `parse` returns nothing.
template <class Parse, class Run>
int run_program(const std::string& program, int argc, char** argv, const Parse& parse,
                const Run& run) {
    return run_program(program, [&] {
        auto options = parse(argc, argv);
        if (!options) return 0;
        options->common.invocation = invocation(program, argc, argv);
        if constexpr (requires { options->sweep; }) {
            for (auto& one : options->sweep.runs)
                one.common.invocation = options->common.invocation;
        }
        Console console(program, options->common.quiet, options->common.verbose);
        core::Cpu cpu(options->common.threads);
        run(*options, cpu, console);
        return options->common.strict && console.incomplete() ? exit_incomplete : 0;
    });
}

enum class DeviceKind { automatic, cpu, gpu };
/// --device. An automatic choice is GPU 0 if it is usable, else the CPU.
struct DeviceChoice {
    DeviceKind kind = DeviceKind::automatic;
    int gpu = 0;
    bool operator==(const DeviceChoice&) const = default;
};
/// Parses "auto", "cpu", "gpu" (the first) or "gpu:1"; throws core::InvalidArgument otherwise.
DeviceChoice parse_device(const std::string& text);

/// Also --device and --repeat, for programs that compute.
struct RunOptions : CommonOptions {
    DeviceChoice device;
    int repeat = 0;  ///< timed runs after a warm-up; 0: a single run
};

/// Whether to use the GPU. A verbose console explains an automatic choice. Throws core::DeviceError
/// if a requested GPU cannot be used.
bool use_gpu(const DeviceChoice& choice, Console& console);

/// Calls `on_gpu`. If the GPU was an automatic choice and is unfit for the work, warns of that and
/// calls `on_cpu`, which restarts the work.
template <class OnGpu, class OnCpu>
void run_where_it_fits(const DeviceChoice& choice, Console& console, const OnGpu& on_gpu,
                       const OnCpu& on_cpu) {
    try {
        on_gpu();
        return;
    } catch (const core::UnfitDevice& reason) {
        if (choice.kind != DeviceKind::automatic) throw;
        console.done();
        console.warn(core::text("computing on the CPU: ", reason.what()));
    }
    on_cpu();
}

/// Calls `work` with the chosen executor, a core::Gpu& or `cpu`. The GPU of an automatic choice
/// need not fit the work. Throws core::DeviceError if a requested GPU cannot be used.
template <class Work>
void with_executor(const DeviceChoice& choice, core::Cpu& cpu, Console& console, const Work& work) {
    [[maybe_unused]] const bool on_gpu = use_gpu(choice, console);
#if APERTURE_CUDA
    if (on_gpu) {
        const auto work_on_gpu = [&] {
            core::Gpu gpu(choice.gpu);
            work(gpu);
        };
        return run_where_it_fits(choice, console, work_on_gpu, [&] { work(cpu); });
    }
#endif
    work(cpu);
}

using core::choice_name;
using core::choice_names;
using core::Choices;
using core::is_gpu;
using core::parse_choice;

}  // namespace aperture::apps
