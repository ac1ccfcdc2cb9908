// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "aperture/compose/operation.hpp"
#include "aperture/core/choices.hpp"

/// Which calls run in one kernel.
namespace aperture::compose {

/// How calls are put together.
enum class Fusion {
    none,    ///< a kernel for each call
    thesis,  ///< as many calls in a row as their accesses allow (Anderson 2014, section 5.7)
    /// The sets of calls that are predicted to take least time (Fousek et al. 2011), in an order
    /// that the data allow.
    planned,
};
inline constexpr core::Choices<Fusion, 3> fusion_choices{
    {{"none", Fusion::none}, {"thesis", Fusion::thesis}, {"planned", Fusion::planned}}};

/// What a device can do, for predictions.
struct Machine {
    double bytes_a_second = 0;  ///< reads plus writes of a copy
    double flops_a_second = 0;  ///< of 32-bit numbers
    double double_flops_a_second = 0;
    double launch_seconds = 0;  ///< what a kernel takes besides
    double cache_bytes = 0;     ///< 0 if it is not known
    double memory_bytes = 0;    ///< 0 if it is not known
    // The rest is of GPUs.
    double latency_seconds = 0;  ///< of memory
    double barrier_seconds = 0;  ///< of a kernel's blocks that wait for each other
    int multiprocessors = 0;     ///< 0 of a CPU
    // What a multiprocessor has for blocks.
    int registers = 0;
    int shared_bytes = 0;
    int warps = 64;
    int blocks = 32;
};

/// An H100, as gpu_parameters measures it; a launch is one of a graph.
inline constexpr Machine h100{.bytes_a_second = 2.8e12,
                              .flops_a_second = 66.9e12,
                              .double_flops_a_second = 33.5e12,
                              .launch_seconds = 1e-6,
                              .cache_bytes = 50 << 20,
                              .memory_bytes = 80e9,
                              .latency_seconds = 346e-9,
                              .barrier_seconds = 1e-6,
                              .multiprocessors = 132,
                              .registers = 65536,
                              .shared_bytes = 233472};

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

/// Of images that a kernel makes and neighbours read: a strip of rows. A call that would make them
/// more begins another kernel.
inline constexpr index_t most_bytes_of_tiles = 1 << 20;

/// Calls of a kernel that run for some elements at a time, and for a margin around these.
struct KernelPart {
    std::vector<bool> calls{};         ///< of the kernel: whether they do
    std::vector<std::size_t> tiles{};  ///< those that make what neighbours read, on chip
    Access margin{};
};

/// Numbers of a problem that a kernel of batches keeps on chip.
struct OnChip {
    SymbolId id;  ///< -1 of a call's workspace
    Type type;
};

/// Calls that run together, for each element of one set of extents, or each problem of
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
    /// That make tiles, one after the other, and that of elements; none if there are no tiles.
    std::vector<KernelPart> parts;
    double bytes = 0;  ///< moved, by arrays in memory
    double flops = 0;
};

struct Step;
struct LoopStep {
    std::vector<Step> body;
    int number = 0;  ///< of all loops, from 0 in the order of the program
    /// Whether a GPU runs it, with all loops in it, as one kernel.
    bool in_one_kernel = false;
};
struct Repeat : LoopStep {
    const Loop* loop;
};
struct RepeatWhile : LoopStep {
    const While* loop;
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

/// Throws InvalidArgument, with line and column, for programs that are wrong. `machine` is for
/// Fusion::planned alone. Results of all plans have the same bits.
Plan plan(Program program, const Registry& registry, Fusion fusion, const Machine& machine = h100);

/// Plans from that which is predicted to be fastest on: number i has the kernels of rank i for each
/// part of the program without loops and branches, or the last ones where there are fewer.
std::vector<Plan> best_plans(Program program, const Registry& registry, std::size_t count,
                             const Machine& machine = h100);

/// Calls by their numbers, from 0 in the order of the program: those of each kernel of a plan, in
/// the order in which they run.
using CallsOfKernels = std::vector<std::vector<int>>;
CallsOfKernels calls_of_kernels(const Plan& plan);

/// The plan with these kernels. Throws InvalidArgument if a call is in none or in two of them, if
/// calls of one cannot run together, or if data do not allow the order.
Plan plan(Program program, const Registry& registry, const CallsOfKernels& kernels);

/// Numbers of the loops that a GPU runs as one kernel each. Plans of Fusion::planned choose them by
/// prediction, others have none.
std::vector<int> loop_kernels(const Plan& plan);
/// Numbers of the outermost loops that can be one kernel: their kernels are generated, not of
/// batches, have no tiles, and add up no rows or columns.
std::vector<int> possible_loop_kernels(const Plan& plan);
/// The plan with these loops as one kernel each, and no others. Throws InvalidArgument if one of
/// them cannot be.
Plan with_loop_kernels(Plan plan, std::span<const int> loops);

/// Seconds that a kernel takes: of loads and stores or of operations, whichever is more, and of its
/// launch. A GPU is as fast as it can be if enough bytes and warps are under way.
double predicted_seconds(const Program& program, const Kernel& kernel, const Machine& machine);
/// Of a run: counted loops as often as they say, others and branches once. Counts what a GPU needs
/// to decide on conditions, too.
double predicted_seconds(const Plan& plan, const Machine& machine);

/// The kernels, what each loads, stores and keeps in registers, and the bytes that it moves.
std::string explain(const Plan& plan);
/// The same with what each kernel is predicted to take, and what it took, if that was measured
/// (Executable::kernel_seconds).
std::string explain(const Plan& plan, const Machine& machine,
                    std::span<const double> measured_seconds = {});

}  // namespace aperture::compose
