// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aperture/core/error.hpp"
#include "apps/common/console.hpp"

namespace aperture::apps {

inline constexpr int exit_input = 1;       ///< input or usage
inline constexpr int exit_internal = 2;    ///< device or internal
inline constexpr int exit_incomplete = 3;  ///< with --strict: an incomplete result

/// Runs `body` and returns its exit status. Exceptions become one line on stderr, "program: error:
/// ...", and the status exit_input (core::InvalidArgument) or exit_internal (all others).
int run_program(const std::string& program, const std::function<int()>& body);

/// --out, --threads, --quiet, --strict and --version, common to all programs.
struct CommonOptions {
    std::filesystem::path out;
    int threads = 0;  ///< 0: OpenMP's default
    bool quiet = false;
    bool strict = false;  ///< an incomplete result is a failure
};

/// Exit status after the results are written: exit_incomplete if a result is incomplete and
/// `options` are strict, else 0.
int exit_status(const CommonOptions& options, const Console& console);

enum class DeviceChoice { automatic, cpu, gpu };

/// --device, --repeat and --report, for programs that compute.
struct RunOptions {
    DeviceChoice device = DeviceChoice::automatic;
    int repeat = 0;  ///< timed runs after a warm-up; 0: a single run
    std::optional<std::filesystem::path> report;
};

/// Whether to use the GPU. The console explains an automatic choice. Throws core::DeviceError if a
/// requested GPU cannot be used.
bool use_gpu(DeviceChoice choice, Console& console);

/// One name of an option's value.
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
        if (!names.empty()) names += '|';
        names += choice.name;
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

/// Throws core::InvalidArgument with the option and all choices.
template <class Enum, std::size_t Count>
Enum parse_choice(std::string_view option, const Choices<Enum, Count>& choices,
                  std::string_view text) {
    for (const auto& choice : choices) {
        if (choice.name == text) return choice.value;
    }
    throw core::InvalidArgument(
        core::text(option, " ", text, ": expected ", choice_names(choices)));
}

inline constexpr Choices<DeviceChoice, 3> device_choices{
    {{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}}};

}  // namespace aperture::apps
