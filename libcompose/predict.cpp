// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// How long kernels take (Fousek, Filipovic & Madzin 2011, section 4.4).
#include <algorithm>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/kernel_builder.hpp"
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
    for (const PlannedCall& planned : kernel.calls) {
        const Type& result = planned.match.results.front();
        const bool once = result.is_scalar() && planned.match.level != Level::sum;
        const bool twice_as_long = bytes_of(real_of(result.dtype)) == 8;
        const double idle = on_gpu ? idle_factor(kernel, planned) : 1;
        computes += idle * planned.match.flops * (once ? 1.0 : double(kernel.elements.size())) /
                    (twice_as_long ? machine.double_flops_a_second : machine.flops_a_second);
    }
    double transfers = bytes / machine.bytes_a_second;
    if (on_gpu && is_generated(kernel)) {
        const Shares shares = shares_of(kernel, machine, bytes);
        transfers /= shares.of_transfers;
        computes /= shares.of_operations;
    }
    // Another kernel finishes sums.
    const int launches = on_gpu && has_finish(kernel) ? 2 : 1;
    return std::max(transfers, computes) + machine.latency_seconds +
           launches * machine.launch_seconds;
}

namespace {

double seconds_of(const Program& program, const std::vector<Step>& steps, const Machine& machine) {
    const auto of = [&](const std::vector<Step>& inner) {
        return seconds_of(program, inner, machine);
    };
    double sum = 0;
    for (const Step& step : steps) {
        if (const auto* kernel = std::get_if<Kernel>(&step.what)) {
            sum += predicted_seconds(program, *kernel, machine);
        } else if (const auto* repeat = std::get_if<Repeat>(&step.what)) {
            sum += double(program[repeat->loop->count].value) * of(repeat->body);
        } else if (const auto* repeated = std::get_if<RepeatWhile>(&step.what)) {
            sum += of(repeated->body);
        } else if (const auto* branch = std::get_if<Branch>(&step.what)) {
            sum += of(branch->body) + of(branch->otherwise);
        }
    }
    return sum;
}

}  // namespace

double predicted_seconds(const Plan& plan, const Machine& machine) {
    return seconds_of(*plan.program, plan.steps, machine);
}

}  // namespace aperture::compose
