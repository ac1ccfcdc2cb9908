// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Predicted times of libdense's own factorisations (README.md, "How the GPU does it"). What the
// kernels have in common with Anderson's model is that nothing overlaps: times add up.
#include "libdense/kernel_model.hpp"

#include <algorithm>
#include <complex>

#include "aperture/core/error.hpp"
#include "aperture/dense/batch_model.hpp"
#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/occupancy.hpp"
#include "libcore/rounding.hpp"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {
namespace {

using core::ceil_div;
using core::expects;
using core::index_t;

constexpr int warp = 32;
constexpr double issued_a_cycle = 4;

/// What a row that a step updates takes, and an entry of it in a lane's columns.
struct StepCosts {
    double row;
    double entry;
};
StepCosts in_columns(const KernelCosts& costs, BatchOperation operation, int lanes) {
    // A thread that has the whole matrix sends nothing to others.
    const double row = operation == BatchOperation::qr ? costs.qr_row : costs.column_row;
    return {lanes > 1 ? row : row / 2, operation == BatchOperation::qr   ? costs.qr_entry
                                       : operation == BatchOperation::lu ? costs.lu_entry
                                                                         : costs.cholesky_entry};
}

double cost_of(const KernelCosts& costs, const Element& element) {
    if (element.complex) return element.bytes == 16 ? costs.complex_fp64 : costs.complex_fp32;
    return element.bytes == 8 ? costs.fp64 : 1;
}

core::MultiprocessorLimits limits_of(const DeviceParameters& device) {
    expects(device.registers > 0 && device.shared_bytes > 0,
            "the device's registers and shared memory are not known");
    return {device.warps, device.blocks, device.registers,
            static_cast<std::size_t>(device.shared_bytes)};
}

/// Calls its argument with a number of the element's type.
template <class Function>
int with_type(const Element& element, Function function) {
    if (element.bytes == 4) return function(float());
    if (element.bytes == 16) return function(core::Complex<double>());
    return element.complex ? function(core::Complex<float>()) : function(double());
}

/// What a problem in registers takes with `lanes` lanes and `slots` columns, or a row, in each.
KernelWork in_registers(const DeviceParameters& device, const KernelCosts& costs,
                        BatchOperation operation, int n, const Element& element, int lanes,
                        bool rows) {
    const int slots = rows ? 1 : ceil_div(n, lanes);
    const StepCosts of_step =
        rows ? StepCosts{0, costs.row_entry} : in_columns(costs, operation, lanes);
    const int problems = warp / lanes;
    double instructions = costs.register_entry * n * n * problems / warp;
    for (int k = 0; k < n; ++k) {
        const int left = rows ? 1 : slots - k / lanes;
        instructions += costs.register_step + (n - k - 1) * (of_step.row + of_step.entry * left);
    }
    instructions *= cost_of(costs, element);
    constexpr int threads = 128;
    constexpr int other_registers = 28;
    const int of_columns = (rows ? n : (slots + 1) * n) * element.bytes / 4;
    const core::KernelNeeds needs{
        std::min(of_columns + other_registers, 255),
        static_cast<std::size_t>(threads / lanes * n * (n | 1) * element.bytes)};
    const core::Occupancy on = core::occupancy(limits_of(device), needs, threads);
    return {instructions / problems, costs.wait * instructions + 2 * device.global_latency,
            static_cast<double>(std::max(on.warps, 1) * problems)};
}

/// How often a block's warps do something in all, and the busiest of them.
struct Passes {
    double all = 0;
    double of_a_warp = 0;
    void add(int passes, int warps) {
        all += passes;
        of_a_warp += ceil_div(passes, warps);
    }
};

/// The block of a problem of n x n, as BlockLaunch has it.
struct BlockShape {
    int width;    ///< of panels
    int threads;  ///< of the block
    int slots;    ///< rows of a panel in a lane
    int registers;
    int bytes;  ///< of shared memory
    BlockShape(int n, const Element& element, int shared_bytes)
        : width(element.bytes == 16 ? 4 : 8), threads(warp), slots(n <= 64 ? 2 : 4) {
        const int words = slots * width * element.bytes / 4;
        registers = words <= 16 ? 80 : words <= 32 ? 112 : 224;
        const int chunk = 16 / element.bytes;
        bytes = n * (core::round_up(n, width) / chunk | 1) * 16;
        const int most = 2 * bytes > shared_bytes ? 256 : 128;
        while (threads < most && threads * 64 < n * n) threads *= 2;
    }
};

/// What the panels of a factorisation update.
struct PanelPasses {
    Passes updates, triangles, sums;
    int barriers = 0;

    PanelPasses(BatchOperation operation, int n, int width, int warps) {
        const bool lu = operation == BatchOperation::lu;
        for (int first = 0; first + width < n; first += width) {
            const int behind = n - first - width;
            barriers += lu ? 3 : 2;
            if (lu) triangles.add(ceil_div(behind, warp), warps);
            if (operation == BatchOperation::qr) {
                // A warp has all rows of 16 columns.
                const int groups = ceil_div(behind, 16);
                const int of_group = ceil_div(n - first, 8);
                updates.all += groups * of_group;
                updates.of_a_warp += ceil_div(groups, warps) * of_group;
                sums.add(groups, warps);
                continue;
            }
            const int high = ceil_div(behind, 8);
            for (int left = 0; left < behind; left += warp) {
                updates.add(lu ? high : high - left / 8, warps);
            }
        }
    }
};

/// What a warp loads or stores of a matrix: chunks of several entries, or entries of odd orders.
struct BlockTransfer {
    int chunks;
    int waits;  ///< for global memory, after eight chunks each

    BlockTransfer(int n, const Element& element, int threads) {
        const int entries = 16 / element.bytes;
        const int columns = n % entries == 0 ? n / entries : n;
        const int lanes = columns > 16 ? 32 : columns > 8 ? 16 : 8;
        const int rows = threads / lanes;
        chunks = ceil_div(columns, lanes) * ceil_div(n, rows);
        waits = ceil_div(columns, lanes) * ceil_div(n, 8 * rows);
    }
};

/// What a problem in the shared memory of a block takes.
KernelWork in_block(const DeviceParameters& device, const KernelCosts& costs,
                    BatchOperation operation, int n, const Element& element) {
    const BlockShape shape(n, element, device.shared_bytes);
    const int warps = shape.threads / warp;
    const PanelPasses passes(operation, n, shape.width, warps);
    const BlockTransfer transfer(n, element, shape.threads);
    // One warp has the panels, and all have a share of the rest.
    const double panels = n * (costs.panel_step + costs.panel_slot * shape.slots);
    const double transfers = 2 * costs.panel_chunk * transfer.chunks;
    const auto updates = [&](double Passes::*of) {
        return costs.update * passes.updates.*of + costs.triangle * passes.triangles.*of +
               costs.reflector_sums * passes.sums.*of;
    };
    const double type = cost_of(costs, element);
    const double alone = type * (panels + transfers + updates(&Passes::of_a_warp));
    const core::KernelNeeds needs{shape.registers, static_cast<std::size_t>(shape.bytes)};
    const core::Occupancy on = core::occupancy(limits_of(device), needs, shape.threads);
    return {type * (panels + transfers * warps + updates(&Passes::all)),
            costs.wait * alone + passes.barriers * barrier_cycles(device, shape.threads) +
                transfer.waits * device.global_latency,
            static_cast<double>(std::max(on.blocks, 1))};
}

}  // namespace

KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const Element& element, const KernelCosts& costs) {
    const bool lu = operation == BatchOperation::lu;
    expects(lu || operation == BatchOperation::qr || operation == BatchOperation::cholesky,
            "no model of this operation's kernels");
    expects(order >= 1 && order <= 128, "no model of order ", order);
    const auto n = static_cast<int>(order);
    const bool rows =
        operation == BatchOperation::cholesky || (lu && n > tuning::largest_columns_order);
    const int lanes = with_type(element, [&]<class T>(T) {
        using Columns = tuning::ColumnsWork;
        if (rows) return lu ? tuning::rows_lanes<T>(n, n, true) : tuning::triangle_lanes<T>(n);
        return tuning::columns_lanes<T>(lu ? Columns::lu : Columns::qr, n, n);
    });
    if (lanes > 0) return in_registers(device, costs, operation, n, element, lanes, rows);
    return in_block(device, costs, operation, n, element);
}

double predict_factors(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const Element& element, index_t problems, const KernelCosts& costs) {
    const KernelWork work = kernel_work(device, operation, order, element, costs);
    expects(device.multiprocessors > 0 && device.clock_ghz > 0 && device.global_bandwidth > 0,
            "the device has not been measured");
    const ProblemSize size{order, order, 0};
    // Of a symmetric matrix a triangle is read, and the zeros above are written, too.
    const double bytes = operation == BatchOperation::cholesky
                             ? 1.5 * double(order * order) * element.bytes
                             : work_of(operation, size, element).bytes;
    const auto all = static_cast<double>(problems);
    const double a_multiprocessor = all / device.multiprocessors;
    const double rounds = problems > 0 ? std::max(a_multiprocessor / work.resident, 1.0) : 0;
    const double cycles =
        a_multiprocessor * work.instructions / issued_a_cycle + rounds * work.chain;
    return 1e-6 * device.launch_us +
           1e-9 * (cycles / device.clock_ghz + all * bytes / device.global_bandwidth);
}

KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const Element& element) {
    return kernel_work(device, operation, order, element, {});
}

double predict_factors(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const Element& element, index_t problems) {
    return predict_factors(device, operation, order, element, problems, {});
}

}  // namespace aperture::dense
