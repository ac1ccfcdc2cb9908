// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "aperture/core/error.hpp"

/// Words for the values of enumerations, as command lines and Python use them.
namespace aperture::core {

/// One word for a value. Several words may stand for one.
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

/// Throws InvalidArgument with the option and all choices.
template <class Enum, std::size_t Count>
Enum parse_choice(std::string_view option, const Choices<Enum, Count>& choices,
                  std::string_view word) {
    for (const auto& choice : choices) {
        if (choice.name == word) return choice.value;
    }
    throw InvalidArgument(text(option, " ", word, ": expected ", choice_names(choices)));
}

}  // namespace aperture::core
