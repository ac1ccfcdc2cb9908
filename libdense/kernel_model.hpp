// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "aperture/dense/batch_model.hpp"

namespace aperture::dense {

/// What libdense's factorisations cost: instructions of a warp in fp32, where nothing else is said.
/// Fitted by bench/fit_kernel_model to measurements on an H100 (docs/notes/batches.md).
struct KernelCosts {
    double wait = 1.4;  ///< cycles that a warp waits after an instruction
    // How many times those of fp32.
    double fp64 = 1.5;
    double complex_fp32 = 2;
    double complex_fp64 = 6;
    // Matrices in the registers of a thread or a group (in_columns.cuh, in_rows.cuh).
    double register_step = 26;    ///< a pivot or a reflector
    double register_entry = 7.6;  ///< an entry that is loaded and stored
    double row_entry = 1.6;       ///< an entry that a step updates, where a lane has a row
    double column_row = 1;        ///< where lanes have columns: a row that a step updates,
    double qr_row = 2.3;
    double lu_entry = 1.15;  ///< and its entry in each of these columns
    double cholesky_entry = 1.4;
    double qr_entry = 5;
    // Matrices in a block (block_left_looking.cuh).
    double panel_step = 195;      ///< a column of a panel,
    double panel_slot = 14;       ///< and each 32 rows of it
    double panel_chunk = 28;      ///< what a thread loads or stores at once, before and after
    double triangle = 60;         ///< a panel's rows of 32 columns
    double update = 150;          ///< of 8 x 32 entries, or of 8 rows of 16 columns by reflectors
    double reflector_sums = 660;  ///< of 16 columns
};

inline constexpr std::array all_kernel_costs{
    std::pair{"wait", &KernelCosts::wait},
    std::pair{"fp64", &KernelCosts::fp64},
    std::pair{"complex_fp32", &KernelCosts::complex_fp32},
    std::pair{"register_step", &KernelCosts::register_step},
    std::pair{"register_entry", &KernelCosts::register_entry},
    std::pair{"row_entry", &KernelCosts::row_entry},
    std::pair{"column_row", &KernelCosts::column_row},
    std::pair{"qr_row", &KernelCosts::qr_row},
    std::pair{"lu_entry", &KernelCosts::lu_entry},
    std::pair{"cholesky_entry", &KernelCosts::cholesky_entry},
    std::pair{"qr_entry", &KernelCosts::qr_entry},
    std::pair{"panel_step", &KernelCosts::panel_step},
    std::pair{"panel_slot", &KernelCosts::panel_slot},
    std::pair{"panel_chunk", &KernelCosts::panel_chunk},
    std::pair{"triangle", &KernelCosts::triangle},
    std::pair{"update", &KernelCosts::update},
    std::pair{"reflector_sums", &KernelCosts::reflector_sums}};

/// kernel_work and predict_factors with other costs.
KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const Element& element, const KernelCosts& costs);
double predict_factors(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const Element& element, core::index_t problems,
                       const KernelCosts& costs);

}  // namespace aperture::dense
