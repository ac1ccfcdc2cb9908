// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

/// Words and limits of the language of programs.
namespace aperture::compose {

/// Of Source::input, in_place, local.
inline constexpr std::array<std::string_view, 3> source_words{"input", "inout", "local"};
/// Of Border::replicate, zero.
inline constexpr std::array<std::string_view, 2> border_words{"replicate", "zero"};
inline constexpr std::array<std::string_view, 15> reserved_words{
    "program", "input", "inout", "local", "constant", "number", "stencil", "for",
    "in",      "while", "limit", "if",    "else",     "break",  "return"};

/// Blocks in blocks of a program.
inline constexpr int deepest_block = 32;

}  // namespace aperture::compose
