// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "aperture/compose/operation.hpp"

/// Which calls run in one kernel.
namespace aperture::compose {

/// How calls are put together.
enum class Fusion {
    none,    ///< a kernel for each call
    thesis,  ///< as many calls in a row as their accesses allow (Anderson 2014, section 5.7)
};

/// A call with the operation that it names.
struct PlannedCall {
    const Call* call;
    Match match;
    std::shared_ptr<const Operation> operation;
};

/// Of a problem's numbers, those that a kernel keeps on chip: a call that would make them more
/// begins another kernel.
inline constexpr index_t most_bytes_on_chip = 48 << 10;

/// Of arrays that a kernel reads again once it has added up their rows: a row of all of them. A
/// call that would make them more begins another kernel.
inline constexpr index_t most_bytes_of_row = 32 << 10;

/// Numbers of a problem that a kernel of batches keeps on chip.
struct OnChip {
    SymbolId id;  ///< -1 of a call's workspace
    Type type;
};

/// Calls in a row that run together, for each element of one set of extents, or each problem of
/// batches of the same number.
struct Kernel {
    int number = 0;  ///< from 0 in the order of the plan
    std::vector<PlannedCall> calls;
    Type elements;  ///< an array of these extents, a scalar, or a batch[problems]
    /// Whether it only copies what nobody reads later: symbols then exchange their memory instead.
    bool exchanges = false;
    std::vector<SymbolId> loads, stores;
    std::vector<SymbolId> registers;  ///< live in the kernel alone
    std::vector<OnChip> on_chip;      ///< of batches, in the order of calls
    double bytes = 0;                 ///< moved, by arrays in memory
    double flops = 0;
};

struct Step;
struct Repeat {
    const Loop* loop;
    std::vector<Step> body;
};
struct RepeatWhile {
    const While* loop;
    std::vector<Step> body;
};
struct Branch {
    const If* branch;
    std::vector<Step> body, otherwise;
};
struct Step {
    std::variant<Kernel, Repeat, RepeatWhile, Branch, Break> what;
};

struct Plan {
    /// Calls, loops and branches of the steps are its.
    std::shared_ptr<const Program> program;
    std::vector<Step> steps;

    /// In the order of their numbers.
    std::vector<const Kernel*> kernels() const;
};

/// Throws InvalidArgument, with line and column, for programs that are wrong.
Plan plan(Program program, const Registry& registry, Fusion fusion);

/// The kernels, what each loads, stores and keeps in registers, and the bytes that it moves.
std::string explain(const Plan& plan);

}  // namespace aperture::compose
