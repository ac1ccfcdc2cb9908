// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aperture/core/error.hpp"
#include "apps/common/console.hpp"

namespace aperture::apps {

inline constexpr int exit_input = 1;     ///< input or usage
inline constexpr int exit_internal = 2;  ///< device or internal

/// Runs `body` and returns its exit status. What it throws becomes one line on stderr, "program:
/// error: ...", and exit_input (core::InvalidArgument) or exit_internal (everything else).
int run_program(const std::string& program, const std::function<int()>& body);

/// Parses; returns false where --help or --version was asked for and has been printed. Throws
/// core::InvalidArgument with a one-line text for what it does not understand.
bool parse_command_line(CLI::App& app, int argc, char** argv);

/// Whole numbers from `least` to `most`; says so in a refusal, not in the help.
CLI::Validator whole_number(long long least, long long most);

/// --out, --threads, --quiet and --version, which every program has.
struct CommonOptions {
    std::filesystem::path out;
    int threads = 0;  ///< 0: what OpenMP would take
    bool quiet = false;
};
void add_common_options(CLI::App& app, const std::string& out_default, CommonOptions& options);

enum class DeviceChoice { automatic, cpu, gpu };

/// --device, --repeat and --report, for programs that compute.
struct RunOptions {
    DeviceChoice device = DeviceChoice::automatic;
    int repeat = 0;  ///< timed runs after a warm-up; 0: one run without
    std::optional<std::filesystem::path> report;
};
void add_run_options(CLI::App& app, RunOptions& options);

/// Whether to use the GPU. An automatic choice is explained on the console; a GPU that was asked
/// for and cannot be used throws core::DeviceError.
bool use_gpu(DeviceChoice choice, Console& console);

/// One name that an option's value can take.
template <class Enum>
struct Choice {
    std::string_view name;
    Enum value;
};
template <class Enum, std::size_t Count>
using Choices = std::array<Choice<Enum>, Count>;

/// "a|b|c"
template <class Enum, std::size_t Count>
std::string choice_names(const Choices<Enum, Count>& choices) {
    std::string names;
    for (const auto& choice : choices) {
        names += (names.empty() ? "" : "|") + std::string(choice.name);
    }
    return names;
}

template <class Enum, std::size_t Count>
std::string choice_name(const Choices<Enum, Count>& choices, Enum value) {
    for (const auto& choice : choices) {
        if (choice.value == value) return std::string(choice.name);
    }
    return "unknown";
}

/// Throws core::InvalidArgument that names the option and all choices.
template <class Enum, std::size_t Count>
Enum parse_choice(std::string_view option, const Choices<Enum, Count>& choices,
                  std::string_view text) {
    for (const auto& choice : choices) {
        if (choice.name == text) return choice.value;
    }
    throw core::InvalidArgument(
        core::text(option, " ", text, ": expected ", choice_names(choices)));
}

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

inline constexpr Choices<DeviceChoice, 3> device_choices{
    {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}}};

}  // namespace aperture::apps
