// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Predicted times of libdense's own factorisations (README.md, "How long a batch takes").
#include "libdense/kernel_model.hpp"

#include <algorithm>
#include <cmath>

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

double cost_of(const KernelCosts& costs, const ElementType& element) {
    if (element.complex) return element.bytes == 16 ? costs.complex_fp64 : costs.complex_fp32;
    return element.bytes == 8 ? costs.fp64 : 1;
}

/// Blocks on a multiprocessor; at least one.
double resident_blocks(const DeviceParameters& device, int registers, int bytes, int threads) {
    expects(device.registers > 0 && device.shared_bytes > 0,
            "the device's registers and shared memory are not known");
    const core::MultiprocessorLimits limits{device.warps, device.blocks, device.registers,
                                            static_cast<std::size_t>(device.shared_bytes)};
    const core::KernelNeeds needs{registers, static_cast<std::size_t>(bytes)};
    return std::max(core::occupancy(limits, needs, threads).blocks, 1);
}

/// Calls its argument with a number of the element's type.
template <class Function>
auto with_type(const ElementType& element, Function function) {
    if (element.bytes == 4) return function(float());
    if (element.bytes == 16) return function(core::Complex<double>());
    return element.complex ? function(core::Complex<float>()) : function(double());
}

/// Lanes that have a problem's rows or columns in registers; 0 if a block has the problem.
int lanes_of(BatchOperation operation, int n, const ElementType& element) {
    using tuning::ColumnsWork;
    return with_type(element, [&]<class T>(T) {
        if (operation == BatchOperation::cholesky) return tuning::triangle_lanes<T>(n);
        if (operation == BatchOperation::lu && n > tuning::largest_columns_order) {
            return tuning::rows_lanes<T>(tuning::RowsWork::factors, n, n);
        }
        return tuning::columns_lanes<T>(
            operation == BatchOperation::lu ? ColumnsWork::lu : ColumnsWork::qr, n, n);
    });
}

/// What a problem in the registers of `lanes` lanes takes.
KernelWork in_registers(const DeviceParameters& device, const KernelCosts& costs,
                        BatchOperation operation, int n, const ElementType& element, int lanes) {
    const bool cholesky = operation == BatchOperation::cholesky;
    const bool qr = operation == BatchOperation::qr;
    const int chunk = 16 / element.bytes;
    const int problems = warp / lanes;
    const int slots = ceil_div(n, lanes);
    const bool columns = qr || (!cholesky && n <= tuning::largest_columns_order);
    double chunks = 2.0 * slots * (columns ? n : ceil_div(n, chunk));
    double entries = 0;
    int kept = 0;  // in the registers of a lane
    for (int slot = 0; slot < slots; ++slot) {
        const int steps = std::min((slot + 1) * lanes, n);
        const int length = cholesky ? steps : n;
        kept += length;
        entries += steps * (length - 0.5 * (steps + 1));
    }
    // A step publishes a row or column, and all load it.
    for (int k = 0; k < n && lanes > 1; ++k) chunks += 2 * ceil_div(n - k, chunk);
    // Rows of 4-byte numbers that are no chunks are loaded by twos, or one by one: eight, then a
    // wait for these.
    const int stored = n % chunk == 0 ? chunk : 1;
    const int loaded = stored == 1 && element.bytes == 4 && n % 2 == 0 ? 2 : stored;
    const int own = ceil_div(n * n * problems, warp);
    const int waits = element.bytes == 4 && loaded == 1 ? ceil_div(own, 8) : 1;
    const double instructions =
        costs.piece * (ceil_div(own, loaded) + ceil_div(own, stored)) + costs.chunk * chunks +
        cost_of(costs, element) * (n * (qr ? costs.reflector : costs.step) +
                                   entries * (qr ? costs.qr_entry : costs.entry));
    constexpr int threads = 128;
    const int registers = std::min(24 + 7 * kept * element.bytes / 20, 255);
    const int bytes = threads / lanes * n * (ceil_div(n, chunk) | (lanes > 1 ? 1 : 0)) * 16;
    return {instructions / problems,
            costs.wait * instructions + (1 + waits) * device.global_latency,
            resident_blocks(device, registers, bytes, threads) * threads / lanes};
}

/// Whether LU factors of a block look left, or each panel changes what is right of it.
bool looks_left(int n, const ElementType& element) {
    return with_type(element,
                     [n]<class T>(T) { return n <= tuning::largest_left_looking_order<T>; });
}

/// The block of a problem of n x n, as BlockLaunch has it.
struct BlockShape {
    int width;  ///< of panels
    int chunk;  ///< entries in 16 bytes
    int bytes;  ///< of shared memory
    int registers;
    int threads = warp;
    BlockShape(BatchOperation operation, int n, const ElementType& element)
        : width(element.bytes == 16 ? 4 : 8),
          chunk(16 / element.bytes),
          bytes(n * (((n - 1) / width * width + 8) / chunk | 1) * 16) {
        const bool cholesky = operation == BatchOperation::cholesky;
        if (cholesky) {
            const int panels = ceil_div(n, width);
            bytes = (panels * n - width / 2 * panels * (panels - 1)) * (width / chunk | 1) * 16;
        }
        const int slots = n <= 64 ? 2 : 4;
        const bool qr = operation == BatchOperation::qr;
        registers = element.bytes * (qr ? slots : cholesky ? 2 : 4) <= 16 ? 160 : 224;
        const auto of_thread = with_type(element, [&]<class T>(T) {
            return qr || (!cholesky && !looks_left(n, element)) ? tuning::right_looking_bytes
                   : cholesky                                   ? tuning::cholesky_bytes_per_thread
                                                                : tuning::lu_bytes_per_thread<T>;
        });
        const int wanted = bytes / static_cast<int>(of_thread);
        while (threads < warp * slots && 2 * threads <= wanted) threads *= 2;
    }
};

/// Instructions of all warps of a block, and of the one that has most.
struct BlockWork {
    double all = 0;
    double of_a_warp = 0;

    /// So many parts, of which warps have one at a time.
    void add(double instructions, int parts, int warps) {
        all += instructions * parts;
        of_a_warp += instructions * ceil_div(parts, warps);
    }
};

/// Panels of columns: one warp factors a panel, all have a share of the products.
BlockWork panels_of(const KernelCosts& costs, BatchOperation operation, int n,
                    const ElementType& element, const BlockShape& shape) {
    const bool qr = operation == BatchOperation::qr;
    const double type = cost_of(costs, element);
    const int warps = shape.threads / warp;
    BlockWork work;
    // Brings rows or columns up to date by products with `depth` others, which pairs load together.
    const auto look_left = [&](int numbers, int depth) {
        const double loads = shape.width / 2.0 + 1;
        const double of_a_chunk = shape.chunk * shape.width * type + loads;
        work.add(costs.update * ceil_div(depth, shape.chunk) * of_a_chunk, ceil_div(numbers, warp),
                 warps);
    };
    for (int first = 0; first < n; first += shape.width) {
        const int left = n - first;
        const int behind = std::max(left - shape.width, 0);
        const int slots = left <= warp ? 1 : left <= 2 * warp ? 2 : 4;
        const double step = qr ? costs.reflector_step + costs.reflector_slot * slots
                               : costs.panel_step + costs.panel_slot * slots;
        work.add(type * std::min(shape.width, left) * step, 1, warps);
        if (qr) {
            // The sums of all rows, and their triangle, take as long as two more.
            work.add(type * costs.apply * (2 + ceil_div(left, 8)), ceil_div(behind, 16), warps);
        } else if (operation == BatchOperation::lu && !looks_left(n, element)) {
            work.add(0.5 * type * costs.apply * (1 + ceil_div(behind, 8)), ceil_div(behind, 16),
                     warps);
        } else {
            look_left(left, first);
            // Rows of U depend on the panel's triangle, too.
            if (operation == BatchOperation::lu) look_left(behind, first + shape.width);
        }
    }
    return work;
}

/// What a problem in the shared memory of a block takes.
KernelWork in_block(const DeviceParameters& device, const KernelCosts& costs,
                    BatchOperation operation, int n, const ElementType& element) {
    const BlockShape shape(operation, n, element);
    const int warps = shape.threads / warp;
    BlockWork work = panels_of(costs, operation, n, element, shape);
    // A thread loads and stores chunks, or entries of odd orders, eight before it waits.
    const int columns = n % shape.chunk == 0 ? n / shape.chunk : n;
    const int lanes = columns > 16 ? 32 : columns > 8 ? 16 : 8;
    const int rows = shape.threads / lanes;
    work.add(2 * costs.block_chunk * ceil_div(columns, lanes) * ceil_div(n, rows), warps, warps);
    const int waits = ceil_div(columns, lanes) * ceil_div(n, 8 * rows);
    const int barriers = ceil_div(n, shape.width) * (operation == BatchOperation::lu ? 3 : 2);
    return {work.all,
            costs.wait * work.of_a_warp + barriers * barrier_cycles(device, shape.threads) +
                waits * device.global_latency,
            resident_blocks(device, shape.registers, shape.bytes, shape.threads)};
}

}  // namespace

KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const ElementType& element, const KernelCosts& costs) {
    expects(operation == BatchOperation::lu || operation == BatchOperation::qr ||
                operation == BatchOperation::cholesky,
            "no model of this operation's kernels");
    expects(order >= 1 && order <= 128, "no model of order ", order);
    const auto n = static_cast<int>(order);
    const int lanes = lanes_of(operation, n, element);
    if (lanes > 0) return in_registers(device, costs, operation, n, element, lanes);
    return in_block(device, costs, operation, n, element);
}

double predict_factors(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const ElementType& element, index_t problems, const KernelCosts& costs) {
    const KernelWork work = kernel_work(device, operation, order, element, costs);
    expects(device.multiprocessors > 0 && device.clock_ghz > 0 && device.global_bandwidth > 0,
            "the device has not been measured");
    const auto n = static_cast<double>(order);
    // Of a symmetric matrix, sectors of 32 bytes are read that have entries of the triangle.
    const double read =
        operation == BatchOperation::cholesky ? std::min(n, n / 2 + 16.0 / element.bytes) : n;
    const double bytes = n * (read + n) * element.bytes;
    const auto all = static_cast<double>(problems);
    const double a_multiprocessor = all / device.multiprocessors;
    const double rounds = problems > 0 ? std::max(a_multiprocessor / work.resident, 1.0) : 0;
    const double nanoseconds =
        std::hypot(a_multiprocessor * work.instructions / issued_a_cycle / device.clock_ghz,
                   rounds * work.chain / device.clock_ghz, all * bytes / device.global_bandwidth);
    return 1e-6 * device.launch_us + 1e-9 * nanoseconds;
}

KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const ElementType& element) {
    return kernel_work(device, operation, order, element, {});
}

double predict_factors(const DeviceParameters& device, BatchOperation operation, index_t order,
                       const ElementType& element, index_t problems) {
    return predict_factors(device, operation, order, element, problems, {});
}

}  // namespace aperture::dense
