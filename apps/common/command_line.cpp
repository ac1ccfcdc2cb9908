// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "aperture/core/version.hpp"

namespace aperture::apps {
namespace {

constexpr int max_threads = 4096;
constexpr int max_repeat = 1'000'000;

}  // namespace

Option& Option::required() {
    option_->required();
    return *this;
}
Option& Option::default_text(const std::string& value) {
    option_->default_str(value);
    return *this;
}
Option& Option::needs(const Option& other) {
    option_->needs(other.option_);
    return *this;
}
Option& Option::excludes(const Option& other) {
    option_->excludes(other.option_);
    return *this;
}

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         const std::string& example)
    : program_(program), app_(std::make_unique<CLI::App>(description, program)) {
    app_->footer(example);
}
CommandLine::~CommandLine() = default;

Option CommandLine::flag(const std::string& name, bool& value, const std::string& description) {
    return Option(app_->add_flag(name, value, description));
}

Option CommandLine::text(const std::string& name, const std::string& value_name,
                         const std::function<void(const std::string&)>& store,
                         const std::string& description) {
    return Option(
        app_->add_option_function<std::string>(name, store, description)->type_name(value_name));
}

Option CommandLine::texts(const std::string& name, const std::string& value_name, int least,
                          int most,
                          const std::function<void(const std::vector<std::string>&)>& store,
                          const std::string& description) {
    auto* const option =
        app_->add_option_function<std::vector<std::string>>(name, store, description)
            ->type_name(value_name);
    if (most >= 0) option->expected(least, most);
    return Option(option);
}

Option CommandLine::repeated_file(const std::string& name, const std::string& value_name,
                                  std::vector<std::filesystem::path>& value,
                                  const std::string& description) {
    return Option(app_->add_option(name, value, description)
                      ->expected(1)
                      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                      ->type_name(value_name));
}

Option CommandLine::files(const std::string& name, const std::string& value_name, int least,
                          int most, std::vector<std::filesystem::path>& value,
                          const std::string& description) {
    return texts(
        name, value_name, least, most,
        [&value](const std::vector<std::string>& list) { value.assign(list.begin(), list.end()); },
        description);
}

bool CommandLine::parse(int argc, char** argv) {
    try {
        app_->parse(argc, argv);
    } catch (const CLI::Success& answer) {
        app_->exit(answer, std::cout, std::cerr);
        return false;
    } catch (const CLI::ParseError& error) {
        // Unknown arguments may be the reason why something else is missing.
        const auto unknown = app_->remaining();
        const std::string reason =
            unknown.empty() ? error.what() : CLI::ExtrasError(unknown).what();
        throw core::InvalidArgument(core::text(reason, " (see ", program_, " --help)"));
    }
    return true;
}

bool CommandLine::given(const std::string& name) const { return app_->count(name) > 0; }

void CommandLine::needs(const std::string& name, const char* other, bool met) const {
    core::expects(met || !given(name), name, " requires ", other);
}

void CommandLine::version(const std::string& text) { app_->set_version_flag("--version", text); }

void add_common_options(CommandLine& line, const std::string& value_name,
                        const std::string& out_default, CommonOptions& options) {
    line.file("--out", value_name, options.out, "Output file" + out_default);
    line.whole_number("--threads", "N", options.threads, 1, max_threads,
                      "CPU threads (default: all)");
    line.flag("--quiet", options.quiet, "Print warnings and errors only");
    line.flag("--strict", options.strict,
              "Exit with status 3 if the result is incomplete: parts failed or were skipped");
    line.version(core::text(line.program(), " ", core::version(), " (", core::git_commit(), ")"));
}

void add_run_options(CommandLine& line, const std::string& value_name,
                     const std::string& out_default, RunOptions& options) {
    add_common_options(line, value_name, out_default, options);
    line.choice("--device", device_choices, options.device,
                "Device to compute on; auto selects a usable GPU, else the CPU")
        .default_text("auto");
    line.whole_number("--repeat", "N", options.repeat, 1, max_repeat,
                      "Report median times of N runs after a warm-up (default: one run, no "
                      "warm-up)");
    line.file("--report", "FILE", options.report, "Write times and parameters as JSON");
}

}  // namespace aperture::apps
