// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aperture/compose/sweep.hpp"

namespace aperture::compose {

/// A program that is swept: what no parameter reaches, which runs once, and the rest, which runs
/// for each value. Symbols have the names of the program's, or such a name with a number.
struct SplitProgram {
    /// Returns results that no parameter reaches, and what `members` reads besides. Runs only if it
    /// returns something.
    Program common;
    /// Has what `common` returns among its inputs, if it reads that.
    Program members;

    struct Result {
        bool has_axis;       ///< `members` returns it
        std::size_t number;  ///< of the values that `members`, or `common`, returns
    };
    std::vector<Result> results;
    /// Whether no condition of `members` is reached: all values take the same way.
    bool is_similar = true;
};

SplitProgram split(const Program& program, const Registry& registry,
                   std::span<const std::string> parameters);

/// `members` for several values at a time.
struct WideProgram {
    Program program;
    index_t problems = 0;  ///< of each value; 0 of a program without batches
    /// Whether it has an input of this name, which is true for each value.
    bool has_truths = false;
};
inline constexpr const char* name_of_truths = "each_value";

/// Whether values of a wide program take the same way.
enum class Ways { one, own };

/// The program that computes `lanes` values as one: its batches have as many more problems, and
/// scalars that a parameter reaches are batches of one number a problem, or arrays in a program
/// without batches. Nothing for programs that have arrays or call functions of libraries, and for
/// calls that there are not of batches; with Ways::one for those that decide on what a parameter
/// reaches. With Ways::own all scalars but counters of loops are each value's own, conditions too:
/// such a program is for LaneRuns.
std::optional<WideProgram> widened(const Program& members, const Registry& registry,
                                   std::span<const std::string> parameters, index_t lanes,
                                   Ways ways = Ways::one);

}  // namespace aperture::compose
