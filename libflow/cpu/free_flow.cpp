// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/free_flow.hpp"

#include "libflow/cpu/row_loops.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

void FreeFlow::load(core::Cpu& cpu, const LinearSystem<core::Host>& system,
                    ConstFlowView<core::Host> flow) {
    double u = 0;
    double v = 0;
    is_free_ = false;
    if (system.boundary == Boundary::zero) return;
    tensor_ = tensor_sums_.over_rows(cpu, [&](index_t y) {
        std::array<double, 3> sums{};
        for (std::size_t i = 0; i < 3; ++i) {
            sums[i] = row_sum(&system.tensor(i, y, 0), system.tensor.extent[2]);
        }
        return sums;
    });
    is_free_ = project_free(tensor_[0], tensor_[1], tensor_[2], &u, &v);
    if (is_free_) start_ = sum(cpu, flow);
}

void FreeFlow::restore(core::Cpu& cpu, FlowView<core::Host> flow) {
    if (!is_free_) return;
    const auto now = sum(cpu, flow);
    const auto pixels = static_cast<double>(flow.extent[1] * flow.extent[2]);
    double u = (start_[0] - now[0]) / pixels;
    double v = (start_[1] - now[1]) / pixels;
    project_free(tensor_[0], tensor_[1], tensor_[2], &u, &v);
    const float change[2] = {static_cast<float>(u), static_cast<float>(v)};
    for_rows(cpu, Shape{flow.extent[1], flow.extent[2]}, [&](index_t y) {
        for (index_t unknown : {0, 1}) {
            const float added = change[unknown];
            for (index_t x = 0; x < flow.extent[2]; ++x) flow(unknown, y, x) += added;
        }
    });
}

std::array<double, 2> FreeFlow::sum(core::Cpu& cpu, ConstFlowView<core::Host> flow) {
    return flow_sums_.over_rows(cpu, [&](index_t y) {
        return std::array{row_sum(&flow(0, y, 0), flow.extent[2]),
                          row_sum(&flow(1, y, 0), flow.extent[2])};
    });
}

}  // namespace aperture::flow
