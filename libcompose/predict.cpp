// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// How long kernels take (Fousek, Filipovic & Madzin 2011, section 4.4).
#include <algorithm>
#include <set>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/kernel_builder.hpp"
#include "libcompose/loops.hpp"
#include "libcompose/problem_groups.hpp"
#include "libcore/gpu/occupancy.hpp"
#include "libcore/rounding.hpp"

namespace aperture::compose {
namespace {

/// Whether values decide which statements run. A GPU then exchanges memory by small kernels.
bool has_conditions(const Block& block) {
    return std::any_of(block.begin(), block.end(), [](const Statement& statement) {
        const auto* const loop = std::get_if<Loop>(&statement.what);
        return std::holds_alternative<If>(statement.what) ||
               std::holds_alternative<While>(statement.what) ||
               (loop != nullptr && has_conditions(loop->body));
    });
}

/// Rows of neighbours that a block of a device loads, too, as a share of its own.
double halo_share(const Kernel& kernel, SymbolId id, double rows_of_block) {
    int rows = 0;
    for (const PlannedCall& planned : kernel.calls) {
        for (std::size_t i = 0; i < planned.call->operands.size(); ++i) {
            const Access& access = planned.match.accesses[i];
            if (planned.call->operands[i] != id || access.kind != Access::Kind::halo) continue;
            rows = std::max(rows, access.above + access.below);
        }
    }
    return rows / rows_of_block;
}

/// Registers of a thread: two for each pointer, one or two for each value, and some; of a thread
/// that computes a problem, all numbers that are live in the kernel alone.
int registers_of(const Kernel& kernel) {
    const std::size_t pointers = kernel.loads.size() + kernel.stores.size();
    auto values = static_cast<index_t>(kernel.registers.size());
    if (is_of_batches(kernel) && problem_groups(kernel).threads == 1) {
        for (const OnChip& one : kernel.on_chip) {
            if (!is_moved(kernel, one)) values += bytes_of_problem({one}) / 4;
        }
    }
    return static_cast<int>(std::min<index_t>(24 + 3 * index_t(pointers) + values, 255));
}

/// How many times longer a call takes since threads of a problem's group have nothing to do.
double idle_factor(const Kernel& kernel, const PlannedCall& planned) {
    const Type& result = planned.match.results.front();
    if (planned.match.level != Level::block || result.kind != Kind::batch) return 1;
    const index_t threads = problem_groups(kernel).threads, numbers = result.numbers_of_problem();
    return double(core::round_up(numbers, threads)) / double(numbers);
}

/// Entries, problems or terms of a call.
index_t size_of(const Kernel& kernel, const PlannedCall& planned) {
    const Type& result = planned.match.results.front();
    const bool of_all = planned.match.level == Level::sum || adds_lines(planned.match.level);
    return of_all || result.kind == Kind::batch ? kernel.elements.size() : result.size();
}

/// How much of its speed a GPU reaches with what is under way at a time.
struct Shares {
    double of_transfers = 1, of_operations = 1;
};
Shares shares_of(const Kernel& kernel, const Machine& machine, double bytes) {
    // Operations that wait for one another take four cycles, and each of four schedulers begins one
    // a cycle.
    constexpr double enough_warps = 16;
    const LaunchShape shape = launch_of(kernel);
    const auto threads = static_cast<int>(shape.block_x * shape.block_y);
    const core::MultiprocessorLimits limits{machine.warps, machine.blocks, machine.registers,
                                            static_cast<std::size_t>(machine.shared_bytes)};
    const core::KernelNeeds needs{registers_of(kernel),
                                  static_cast<std::size_t>(shape.shared_bytes)};
    const core::Occupancy occupancy = core::occupancy(limits, needs, threads);
    const double blocks = double(shape.grid_x) * shape.grid_y;
    const double resident =
        std::min(blocks, double(std::max(occupancy.blocks, 1)) * machine.multiprocessors);
    // Bytes that are under way while others wait for their blocks.
    const double under_way = bytes * resident / blocks;
    const double wanted = machine.latency_seconds * machine.bytes_a_second;
    const double warps = resident * std::max(threads / kernels::lanes, 1);
    return {resident < blocks && under_way < wanted ? under_way / wanted : 1,
            std::min(1.0, warps / (enough_warps * machine.multiprocessors))};
}

/// Of a GPU: another part finishes sums.
int parts_of(const Kernel& kernel) { return has_finish(kernel) ? 2 : 1; }

}  // namespace

double predicted_seconds(const Program& program, const Kernel& kernel, const Machine& machine) {
    core::expects(machine.bytes_a_second > 0 && machine.flops_a_second > 0 &&
                      machine.double_flops_a_second > 0,
                  "a machine without rates of bytes and operations");
    const bool on_gpu = machine.multiprocessors > 0;
    if (kernel.exchanges) {
        const bool is_launched = on_gpu && has_conditions(program.statements);
        return is_launched ? double(kernel.calls.size()) * machine.launch_seconds : 0;
    }
    double bytes = kernel.bytes, computes = 0;
    if (on_gpu && is_generated(kernel) && !is_of_batches(kernel)) {
        const double rows = LaunchShape().block_y;
        for (const SymbolId id : kernel.loads) {
            bytes += halo_share(kernel, id, rows) * double(program[id].type.bytes());
        }
    }
    // Tiles are stored and loaded, too, and a GPU computes margins again. Measured: as long as a
    // share of their bytes in memory.
    const double of_tiles = on_gpu ? 1.0 / 2 : 1.0 / 8;
    for (const KernelPart& part : kernel.parts) {
        for (const std::size_t call : part.tiles) {
            bytes += 2 * of_tiles * double(kernel.calls[call].match.results[0].bytes());
        }
    }
    for (const PlannedCall& planned : kernel.calls) {
        const Type& result = planned.match.results.front();
        const bool twice_as_long = bytes_of(real_of(result.dtype)) == 8;
        const double idle = on_gpu ? idle_factor(kernel, planned) : 1;
        computes += idle * planned.match.flops * double(size_of(kernel, planned)) /
                    (twice_as_long ? machine.double_flops_a_second : machine.flops_a_second);
    }
    double transfers = bytes / machine.bytes_a_second;
    if (on_gpu && is_generated(kernel)) {
        const Shares shares = shares_of(kernel, machine, bytes);
        transfers /= shares.of_transfers;
        computes /= shares.of_operations;
    }
    return std::max(transfers, computes) + machine.latency_seconds +
           (on_gpu ? parts_of(kernel) : 1) * machine.launch_seconds;
}

namespace {

/// What decides on the next kernel.
enum class Control {
    none,    ///< a CPU; a graph without loops
    nodes,   ///< of a graph
    kernel,  ///< of which all kernels are parts
};

double seconds_of(const Program& program, const Kernel& kernel, const Machine& machine,
                  Control control) {
    if (control == Control::kernel) {
        if (kernel.exchanges || kernel.elements.rank == 0) return 0;
        // Pointers are on chip: what a launched kernel loads first.
        return predicted_seconds(program, kernel, machine) - machine.latency_seconds -
               parts_of(kernel) * machine.launch_seconds + machine.barrier_seconds;
    }
    if (kernel.exchanges) {
        return control == Control::nodes ? double(kernel.calls.size()) * machine.launch_seconds : 0;
    }
    return predicted_seconds(program, kernel, machine);
}

double seconds_of(const Program& program, const std::vector<Step>& steps, const Machine& machine,
                  Control control) {
    // A node of a graph, and the kernel before it that decides.
    constexpr double launches_of_condition = 4.5;
    const double condition =
        control == Control::nodes ? launches_of_condition * machine.launch_seconds : 0;
    double sum = 0;
    for (const Step& step : steps) {
        if (const auto* const kernel = std::get_if<Kernel>(&step.what)) {
            sum += seconds_of(program, *kernel, machine, control);
        } else if (const LoopStep* const loop = loop_of(step)) {
            const bool begins = loop->in_one_kernel && control != Control::kernel;
            const auto* const repeat = std::get_if<Repeat>(&step.what);
            const double times = repeat != nullptr ? double(program[repeat->loop->count].value) : 1;
            const double body =
                seconds_of(program, loop->body, machine, begins ? Control::kernel : control);
            sum += times * (body + (begins ? 0 : condition));
            // It loads pointers and scalars, and waits at its end.
            if (begins) {
                sum +=
                    machine.launch_seconds + machine.barrier_seconds + 2 * machine.latency_seconds;
            }
        } else if (std::holds_alternative<Break>(step.what)) {
            sum += condition;  // Whether the rest of the body runs.
        } else if (const auto* const branch = std::get_if<Branch>(&step.what)) {
            sum += condition + seconds_of(program, branch->body, machine, control) +
                   seconds_of(program, branch->otherwise, machine, control);
        }
    }
    return sum;
}

/// The arrays that kernels of the loop load or store.
double bytes_of_state(const Program& program, const LoopStep& loop) {
    std::set<SymbolId> state;
    for_each_kernel(loop.body, [&](const Kernel& kernel) {
        state.insert(kernel.loads.begin(), kernel.loads.end());
        state.insert(kernel.stores.begin(), kernel.stores.end());
    });
    double bytes = 0;
    for (const SymbolId id : state) bytes += double(program[id].type.bytes());
    return bytes;
}

}  // namespace

double predicted_seconds(const Plan& plan, const Machine& machine) {
    const bool nodes = machine.multiprocessors > 0 && !is_unrolled(*plan.program, plan.steps);
    return seconds_of(*plan.program, plan.steps, machine, nodes ? Control::nodes : Control::none);
}

std::vector<int> best_loop_kernels(const Plan& plan, const Machine& machine) {
    // Of the cache, the share that a loop's arrays may take.
    constexpr double share = 0.5;
    if (machine.multiprocessors == 0) return {};
    std::vector<int> best = outermost_loops(plan, [&](const LoopStep& loop) {
        return may_be_one_kernel(loop) &&
               bytes_of_state(*plan.program, loop) <= share * machine.cache_bytes;
    });
    const auto seconds = [&](const std::vector<int>& loops) {
        return predicted_seconds(with_loop_kernels(plan, loops), machine);
    };
    // Without the last one of them a graph may do without nodes that decide.
    for (std::size_t i = best.size(); i-- > 0;) {
        std::vector<int> others = best;
        others.erase(others.begin() + std::ptrdiff_t(i));
        if (seconds(others) <= seconds(best)) best = std::move(others);
    }
    if (!best.empty() && seconds({}) <= seconds(best)) best.clear();
    return best;
}

}  // namespace aperture::compose
