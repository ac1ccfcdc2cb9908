// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/residual.hpp"

#include <array>
#include <cmath>

#include "aperture/core/shape.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

double Residual::squared(core::Cpu& cpu, const PreparedSystem& system, const PaddedPlanes& x) {
    double sum = 0;
    with_coupling(system.coupling, [&](auto coupling) {
        const Operator<decltype(coupling)::value> matrix(system, x, zeros_.row(0, 0));
        sum = sums_.over_rows(cpu, [&](index_t y) {
            const PairRow to(rows_, y);
            matrix.row(y, [&](index_t i, const PackPair& product) {
                to.store(i, load_pair(system.right, y, i) - product);
            });
            return std::array<double, 1>{row_product(rows_, rows_, y)};
        })[0];
    });
    return sum;
}

double right_squared(core::Cpu& cpu, const LinearSystem<core::Host>& system, RowSums<1>& sums) {
    const index_t columns = system.right.extent[2];
    return sums.over_rows(cpu, [&](index_t y) {
        const float* u = &system.right(0, y, 0);
        const float* v = &system.right(1, y, 0);
        return std::array<double, 1>{row_product(u, u, columns) + row_product(v, v, columns)};
    })[0];
}

ResidualNorms residual_norms(core::Cpu& cpu, const LinearSystem<core::Host>& system,
                             ConstFlowView<core::Host> flow) {
    const Shape shape{system.right.extent[1], system.right.extent[2]};
    check_system(system, shape);
    core::expects_shape("flow", flow, {2, shape.rows, shape.columns}, core::Strides::unit_last);
    PreparedSystem prepared(shape);
    prepared.load(cpu, system, false);
    PaddedPlanes x(2, shape);
    load_flow(cpu, flow, system.boundary, x);
    Residual residual(shape);
    RowSums<1> sums(shape);
    return {std::sqrt(residual.squared(cpu, prepared, x)),
            std::sqrt(right_squared(cpu, system, sums))};
}

}  // namespace aperture::flow
