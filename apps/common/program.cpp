// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/program.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <new>

#include "aperture/core/executor.hpp"
#include "aperture/core/report.hpp"

namespace aperture::apps {
namespace {

constexpr int max_threads = 4096;
constexpr int max_repeat = 1'000'000;

std::string one_line(std::string text) {
    // Names from a damaged file may hold anything.
    const auto control = [](unsigned char c) { return std::iscntrl(c) != 0; };
    std::replace_if(text.begin(), text.end(), control, ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

int report_error(const std::string& program, const std::string& text, int status) {
    std::cerr << program << ": error: " << one_line(text) << '\n';
    return status;
}

}  // namespace

int run_program(const std::string& program, const std::function<int()>& body) {
    try {
        const int status = body();
        std::cout.flush();
        core::expects(std::cout.good(), "cannot write to standard output");
        return status;
    } catch (const core::InvalidArgument& error) {
        return report_error(program, error.what(), exit_input);
    } catch (const std::bad_alloc&) {
        return report_error(program, "out of memory", exit_internal);
    } catch (const std::exception& error) {
        return report_error(program, error.what(), exit_internal);
    }
}

bool parse_command_line(CLI::App& app, int argc, char** argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& answer) {
        app.exit(answer, std::cout, std::cerr);
        return false;
    } catch (const CLI::ParseError& error) {
        throw core::InvalidArgument(core::text(error.what(), " (see ", app.get_name(), " --help)"));
    }
    return true;
}

CLI::Validator whole_number(long long least, long long most) {
    return CLI::Range(least, most).description("");
}

void add_common_options(CLI::App& app, const std::string& out_default, CommonOptions& options) {
    app.add_option("--out", options.out, "Output file" + out_default)->type_name("FILE");
    app.add_option("--threads", options.threads, "CPU threads (default: all)")
        ->check(whole_number(1, max_threads))
        ->type_name("N");
    app.add_flag("--quiet", options.quiet, "Print errors only");
    app.set_version_flag("--version", core::text(app.get_name(), " ", core::version(), " (",
                                                 core::git_commit(), ")"));
}

void add_run_options(CLI::App& app, RunOptions& options) {
    add_choice(app, "--device", device_choices, options.device,
               "Where to compute; auto takes a usable GPU, else the CPU")
        ->default_str("auto");
    app.add_option("--repeat", options.repeat,
                   "Times are medians over N runs after a warm-up (default: one run, no warm-up)")
        ->check(whole_number(1, max_repeat))
        ->type_name("N");
    app.add_option("--report", options.report, "Write times and parameters as JSON")
        ->type_name("FILE");
}

bool use_gpu(DeviceChoice choice, Console& console) {
    if (choice == DeviceChoice::cpu) return false;
    const core::GpuStatus status = core::gpu_status();
    if (choice == DeviceChoice::gpu) {
        if (!status.usable) {
            throw core::DeviceError(core::text("--device gpu: no usable GPU: ", status.reason));
        }
        return true;
    }
    console.note(status.usable ? "device: GPU"
                               : "device: CPU (no usable GPU: " + status.reason + ")");
    return status.usable;
}

}  // namespace aperture::apps
