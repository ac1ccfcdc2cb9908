// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>

#include "aperture/core/version.hpp"
#include "aperture/media/library_versions.hpp"

namespace aperture::apps {
namespace {

constexpr int max_threads = 4096;
constexpr int max_repeat = 1'000'000;

/// The least number of characters to insert, remove or replace (Levenshtein 1966).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

/// "stap 0.1.0 (c0ffee123456)", and what it was built with on a second line.
std::string version_text(const std::string& program) {
    const std::string cuda = core::cuda_version();
    return core::text(program, ' ', core::version(), " (", core::git_commit(), ")\n", "built with ",
                      core::compiler(), ", ", cuda.empty() ? "no CUDA" : "CUDA " + cuda, ", ",
                      media::library_versions());
}

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

void CommandLine::sweeps(const SweptOption& option) {
    swept_.push_back(option);
    CLI::Option* const added = app_->get_option(option.name);
    added->type_name(added->get_type_name() + ",..");
}

bool CommandLine::parse(int argc, char** argv) {
    axes_ = find_sweep_axes(swept_, argc, argv);
    RunArguments arguments(argc, argv, axes_, 0);
    try {
        app_->parse(arguments.count(), arguments.words());
    } catch (const CLI::Success& answer) {
        app_->exit(answer, std::cout, std::cerr);
        return false;
    } catch (const CLI::ParseError& error) {
        // Unknown arguments may be the reason why something else is missing.
        const auto unknown = app_->remaining();
        std::string reason = error.what();
        if (!unknown.empty()) {
            reason = "unknown argument " + unknown.front();
            const std::string nearest = nearest_option(unknown.front());
            if (!nearest.empty()) reason += ", did you mean " + nearest + "?";
        }
        throw core::InvalidArgument(core::text(reason, " (see ", program_, " --help)"));
    }
    return true;
}

/// Of the options that differ from `unknown` in at most a third of its letters, the most similar;
/// empty if there is none.
std::string CommandLine::nearest_option(const std::string& unknown) const {
    const std::string word = unknown.substr(0, unknown.find('='));
    std::size_t least = word.size() / 3 + 1;
    std::string nearest;
    for (const CLI::Option* option : app_->get_options()) {
        for (const std::string& name : option->get_lnames()) {
            const std::size_t distance = edit_distance(word, "--" + name);
            if (distance >= least) continue;
            least = distance;
            nearest = "--" + name;
        }
    }
    return nearest;
}

bool CommandLine::given(const std::string& name) const { return app_->count(name) > 0; }

void CommandLine::needs(const std::string& name, const char* other, bool met) const {
    core::expects(met || !given(name), name, " requires ", other);
}

void CommandLine::allows_only(const std::vector<std::string>& names, const char* other) const {
    for (const CLI::Option* option : app_->get_options()) {
        if (option->count() == 0) continue;
        const std::string name =
            option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames().front();
        const bool allowed = std::find(names.begin(), names.end(), name) != names.end();
        core::expects(allowed, name, " requires ", other);
    }
}

void add_common_options(CommandLine& line, const std::string& value_name,
                        const std::string& out_default, CommonOptions& options) {
    line.text(
        "-o,--out", value_name,
        [&options](const std::string& text) {
            core::expects(text != "-", "--out -: only --report can be written to standard output");
            options.out = text;
        },
        "Output file" + out_default);
    line.file("--report", "FILE", options.report,
              "Write parameters, times and results as JSON; - is standard output");
    line.whole_number("--threads", "N", options.threads, 1, max_threads,
                      "CPU threads (default: all)");
    const Option quiet = line.flag("-q,--quiet", options.quiet, "Print warnings and errors only");
    line.flag("--verbose", options.verbose, "Also print how automatic choices were made")
        .excludes(quiet);
    line.flag("--strict", options.strict,
              "Exit with status 3 if the result is incomplete: parts failed or were skipped");
    line.app_->set_version_flag("-V,--version", version_text(line.program_));
}

void add_run_options(CommandLine& line, const std::string& value_name,
                     const std::string& out_default, RunOptions& options) {
    add_common_options(line, value_name, out_default, options);
    line.parsed("--device", "auto|cpu|gpu|gpu:N", options.device, parse_device,
                "Device to compute on; auto selects a usable GPU, else the CPU")
        .default_text("auto");
    line.whole_number("--repeat", "N", options.repeat, 1, max_repeat,
                      "Report median times of N runs after a warm-up (default: one run, no "
                      "warm-up)");
}

}  // namespace aperture::apps
