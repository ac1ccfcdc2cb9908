// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "aperture/dense/batch_model.hpp"

namespace aperture::dense {

/// What libdense's factorisations cost: instructions of a warp in fp32, where nothing else is said.
/// Counted in the code, then fitted by bench/fit_kernel_model to measurements on an H100
/// (docs/notes/batches.md).
struct KernelCosts {
    double wait = 3.19;  ///< cycles that a warp alone takes for an instruction
    // How many times those of fp32.
    double fp64 = 1.46;
    double complex_fp32 = 2.14;
    double complex_fp64 = 6;
    // Matrices in the registers of a thread or a group (in_columns.cuh, in_rows.cuh).
    double piece = 6.18;  ///< that a lane moves between global and shared memory
    double chunk = 1.2;   ///< 16 bytes of a row between shared memory and registers
    double step = 38.6;   ///< a pivot
    double reflector = 91.4;
    double entry = 0.951;    ///< that a step updates
    double qr_entry = 2.21;  ///< likewise, and its part of a product
    // Matrices in a block (block_left_looking.cuh, block_reflectors.cuh).
    double block_chunk = 41.1;    ///< what a thread loads or stores at once, before and after
    double panel_step = 60.9;     ///< a column of a panel,
    double panel_slot = 6.81;     ///< and each 32 rows of it
    double reflector_step = 177;  ///< likewise, of QR,
    double reflector_slot = 26.9;
    double update = 1.35;  ///< a multiply-add or load of panels that look left
    double apply = 125;    ///< a panel's reflectors times 8 rows of 16 columns
};

inline constexpr std::array all_kernel_costs{
    std::pair{"wait", &KernelCosts::wait},
    std::pair{"fp64", &KernelCosts::fp64},
    std::pair{"complex_fp32", &KernelCosts::complex_fp32},
    std::pair{"piece", &KernelCosts::piece},
    std::pair{"chunk", &KernelCosts::chunk},
    std::pair{"step", &KernelCosts::step},
    std::pair{"reflector", &KernelCosts::reflector},
    std::pair{"entry", &KernelCosts::entry},
    std::pair{"qr_entry", &KernelCosts::qr_entry},
    std::pair{"block_chunk", &KernelCosts::block_chunk},
    std::pair{"panel_step", &KernelCosts::panel_step},
    std::pair{"panel_slot", &KernelCosts::panel_slot},
    std::pair{"reflector_step", &KernelCosts::reflector_step},
    std::pair{"reflector_slot", &KernelCosts::reflector_slot},
    std::pair{"update", &KernelCosts::update},
    std::pair{"apply", &KernelCosts::apply}};

/// kernel_work and predict_factors with other costs.
KernelWork kernel_work(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const ElementType& element, const KernelCosts& costs);
double predict_factors(const DeviceParameters& device, BatchOperation operation,
                       core::index_t order, const ElementType& element, core::index_t problems,
                       const KernelCosts& costs);

}  // namespace aperture::dense
