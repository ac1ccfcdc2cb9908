// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tests of solvers on the SIMT host executor, beside those of solver_cases.hpp. A `Run` may be
// given the executor, and has solve(system, flow) for views.

#include <algorithm>

#include "libcore/gpu/simt_host.hpp"
#include "tests/flow/solver_cases.hpp"

namespace aperture::flow {

/// Planes with gaps between rows, surrounded by NaN.
struct Framed {
    core::Array<float, 3> whole;

    explicit Framed(const core::Array<float, 3>& inner)
        : whole({inner.extent()[0], inner.extent()[1] + 2, inner.extent()[2] + 5}) {
        std::fill(whole.begin(), whole.end(), NAN);
        const auto to = view();
        for (index_t i = 0; i < inner.extent()[0]; ++i) {
            for (index_t y = 0; y < inner.extent()[1]; ++y) {
                for (index_t x = 0; x < inner.extent()[2]; ++x) to(i, y, x) = inner(i, y, x);
            }
        }
    }
    core::View<float, 3, core::Host> view() {
        const auto& extent = whole.extent();
        return whole.view().slice(1, 1, extent[1] - 1).slice(2, 3, extent[2] - 2);
    }
};

template <class Run>
void expect_any_row_stride(const Case& c) {
    const Shape shape{11, 35};
    const OwnedSystem system = system_of(c, shape);
    HostFlow dense = zero_flow(shape);
    Run run(shape, iterated(c, 4));
    run(system, dense);
    Framed tensor(system.tensor);
    Framed right(system.right);
    Framed flow(zero_flow(shape));
    LinearSystem<core::Host> strided = system.view();
    strided.tensor = tensor.view();
    strided.right = right.view();
    Run(shape, iterated(c, 4)).solve(strided, flow.view());
    index_t known = 0;
    for (const float value : flow.whole) known += std::isnan(value) ? 0 : 1;
    EXPECT_EQ(known, dense.size());
    for (index_t i : {0, 1}) {
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                ASSERT_EQ(flow.view()(i, y, x), dense(i, y, x));
            }
        }
    }
}

template <class Run>
void expect_same_bits_in_any_order(const Case& c, Shape shape) {
    const OwnedSystem system = system_of(c, shape);
    HostFlow reference;
    for (const core::LaneOrder order : core::all_lane_orders) {
        HostFlow flow = zero_flow(shape);
        Run run(shape, iterated(c, 5), core::Simt(order, 3));
        run(system, flow);
        if (order == core::LaneOrder::forward) {
            reference = std::move(flow);
            continue;
        }
        EXPECT_EQ(std::memcmp(reference.data(), flow.data(),
                              sizeof(float) * static_cast<std::size_t>(flow.size())),
                  0);
    }
}

}  // namespace aperture::flow
