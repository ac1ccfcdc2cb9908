// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "apps/common/argument_fields.hpp"
#include "apps/common/program.hpp"

/// What only the files that define options need: CLI11 is much to compile.
namespace aperture::apps {

/// Parses; returns false where --help or --version was asked for and has been printed. Throws
/// core::InvalidArgument with a one-line text for what it does not understand.
bool parse_command_line(CLI::App& app, int argc, char** argv);

/// Whole numbers from `least` to `most`; says so in a refusal, not in the help.
CLI::Validator whole_number(long long least, long long most);

/// An option that takes a number in `range`; `value` is a double, or an optional of one.
template <class Value>
CLI::Option* add_number(CLI::App& app, const std::string& option, Value& value,
                        const NumberRange& range, const std::string& description) {
    return app.add_option_function<std::string>(
        option,
        [&value, option, range](const std::string& text) {
            value = parse_number(option, text, range);
        },
        description);
}

void add_common_options(CLI::App& app, const std::string& out_default, CommonOptions& options);
void add_run_options(CLI::App& app, RunOptions& options);

/// An option that takes one of `choices`; `value` is an Enum, or an optional of one.
template <class Enum, std::size_t Count, class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option,
                        const Choices<Enum, Count>& choices, Value& value,
                        const std::string& description) {
    return app
        .add_option_function<std::string>(
            option,
            [&value, &choices, option](const std::string& text) {
                value = parse_choice(option, choices, text);
            },
            description)
        ->type_name(choice_names(choices));
}

}  // namespace aperture::apps
