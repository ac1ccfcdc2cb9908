// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/error.hpp"
#include "aperture/dense/batch.hpp"

/// What the batched functions refuse, on any executor.
namespace aperture::dense {

/// Throws unless the strides match the layout.
template <class T, class Space, class Layout>
void expects_layout(const MatrixBatch<T, Space, Layout>& batch, const char* name) {
    constexpr int unit = std::same_as<Layout, core::Interleaved> ? 0 : 2;
    core::expects(batch.extent[unit] <= 1 || batch.stride[unit] == 1, "batch ", name,
                  ": stride of dimension ", unit, " is ", batch.stride[unit], ", must be 1");
}

template <class T, class Space, class Layout>
void expects_solvable(const MatrixBatch<const T, Space, Layout>& a,
                      const MatrixBatch<T, Space, Layout>& x, const core::View<int, 1, Space>& info,
                      const core::View<Real<T>, 1, Space>& pivot_ratio) {
    const core::index_t problems = a.extent[0];
    const core::index_t n = a.extent[1];
    core::expects(a.extent[2] == n, "solve: a is ", n, " x ", a.extent[2], ", must be square");
    core::expects(n <= max_order, "solve: order ", n, " exceeds ", max_order);
    core::expects(x.extent[0] == problems && x.extent[2] == n, "solve: x holds ", x.extent[0],
                  " problems of order ", x.extent[2], ", a holds ", problems, " of order ", n);
    core::expects(info.extent[0] == problems, "solve: info holds ", info.extent[0], " entries for ",
                  problems, " problems");
    core::expects(pivot_ratio.empty() || pivot_ratio.extent[0] == problems,
                  "solve: pivot_ratio holds ", pivot_ratio.extent[0], " entries for ", problems,
                  " problems");
    expects_layout(a, "a");
    expects_layout(x, "x");
}

template <class T, class Space, class Layout>
void expects_rank_k(const MatrixBatch<const T, Space, Layout>& a,
                    const MatrixBatch<T, Space, Layout>& c) {
    core::expects(c.extent[1] == c.extent[2], "hermitian_rank_k: c is ", c.extent[1], " x ",
                  c.extent[2], ", must be square");
    core::expects(c.extent[1] <= max_order, "hermitian_rank_k: order ", c.extent[1], " exceeds ",
                  max_order);
    core::expects(a.extent[0] == c.extent[0] && a.extent[1] == c.extent[1],
                  "hermitian_rank_k: a holds ", a.extent[0], " problems of ", a.extent[1],
                  " rows, c holds ", c.extent[0], " of order ", c.extent[1]);
    expects_layout(a, "a");
    expects_layout(c, "c");
}

template <class T, class Space, class From, class To>
void expects_same_extents(const MatrixBatch<const T, Space, From>& from,
                          const MatrixBatch<T, Space, To>& to) {
    core::expects(from.extent == to.extent, "change_layout: from ", from.extent[0], " x ",
                  from.extent[1], " x ", from.extent[2], " to ", to.extent[0], " x ", to.extent[1],
                  " x ", to.extent[2]);
    expects_layout(from, "from");
    expects_layout(to, "to");
}

}  // namespace aperture::dense
