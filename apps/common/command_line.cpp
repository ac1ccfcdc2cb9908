// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/command_line.hpp"

#include <iostream>

#include "aperture/core/report.hpp"

namespace aperture::apps {
namespace {

constexpr int max_threads = 4096;
constexpr int max_repeat = 1'000'000;

}  // namespace

bool parse_command_line(CLI::App& app, int argc, char** argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& answer) {
        app.exit(answer, std::cout, std::cerr);
        return false;
    } catch (const CLI::ParseError& error) {
        // What is not known may be why something else is missing.
        const auto unknown = app.remaining();
        const std::string reason =
            unknown.empty() ? error.what() : CLI::ExtrasError(unknown).what();
        throw core::InvalidArgument(core::text(reason, " (see ", app.get_name(), " --help)"));
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
    app.add_flag("--quiet", options.quiet, "Print warnings and errors only");
    app.add_flag("--strict", options.strict,
                 "Exit with status 3 where the result is not whole: parts failed or were left out");
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

}  // namespace aperture::apps
