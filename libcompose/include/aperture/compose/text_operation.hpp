// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aperture/compose/operation.hpp"

/// Operations of users, written in C++ at run time.
namespace aperture::compose {

/// A name in the body of an operation.
struct TextOperand {
    std::string name{};
    /// Of its numbers; without, they are of type T, as are those of all others without.
    std::optional<Dtype> dtype{};
    /// Columns and rows around the place that the body reads, of an image: it is x(down, right),
    /// the entry so many rows below and columns to the right. Without, the name is the entry in the
    /// place, of an array or a scalar.
    std::optional<Access> halo{};
    Border border = Border::replicate;
};

struct TextResult {
    std::string name{};
    std::optional<Dtype> dtype{};
};

/// An operation on entries in one place:
///     registry.add("shrink", text_operation({.operands = {{"x"}, {"t"}},
///         .body = "return fabs(x) > t ? x - copysign(t, x) : T(0);"}));
/// With one result, the body is that of a function that returns it; with several, it assigns to
/// their names. `at.row` and `at.column` are the place, but where all operands are scalars. The
/// body is compiled for CPUs and for GPUs, without headers but with their mathematical functions,
/// and must not contain what only one of them has. Calls join others in a kernel.
struct OperationText {
    std::vector<TextOperand> operands{};
    std::vector<TextResult> results{{}};
    std::string body{};
    /// With it, the operation is a number that the values of all entries are combined to, in the
    /// order of sums; its first operand is an array.
    std::optional<Combination> combination{};
    double flops = 1;  ///< an entry
};

/// Throws InvalidArgument if names are no identifiers, or occur twice. What is wrong with the body
/// is said, as InvalidArgument with the compiler's message, when an Executable is made of a plan
/// that calls the operation. Interpreted kernels compile the body, too: on machines without a
/// compiler there is no such Executable.
std::shared_ptr<const Operation> text_operation(OperationText text);

}  // namespace aperture::compose
