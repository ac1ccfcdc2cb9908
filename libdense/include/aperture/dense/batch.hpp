// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

/// Batches of small dense problems: many independent matrices or vectors of one shape.
///
/// A batch is a view with the problem as its first dimension. One of its strides is 1: that of the
/// last dimension (one matrix after another by rows, "concatenated"), of the middle one (by
/// columns) or of the problems ("interleaved": element (i, j) of all problems contiguous; Ha et al.
/// 2013, section III-C). The other strides are arbitrary, so that rows and matrices may be padded.
/// The batches of a call may differ in layout. Results depend neither on the neighbours of a
/// problem nor on the number of threads; sums of dot, norm and gemv on a Gpu may depend on the
/// layout and on whether addresses are multiples of 16 bytes.
///
/// Every function is compiled for float, double and their complex types, on core::Cpu and
/// core::Gpu. Calls on a Gpu are asynchronous. A batch may hold any number of problems, also none.
/// Wrong extents or strides throw core::InvalidArgument.
namespace aperture::dense {

/// Of square matrices, and of the columns of rectangular ones.
inline constexpr int max_order = 128;
/// Of the rows of rectangular matrices.
inline constexpr int max_rows = 256;

template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

template <class T>
struct RealOfScalar {
    using type = T;
};
template <class T>
struct RealOfScalar<std::complex<T>> {
    using type = T;
};
/// float for float and std::complex<float>; double likewise.
template <class T>
using Real = typename RealOfScalar<T>::type;

/// [problem][row][column]
template <class T, class Space>
using MatrixBatch = core::View<T, 3, Space>;
/// [problem][entry]
template <class T, class Space>
using VectorBatch = core::View<T, 2, Space>;

/// Copies a batch to one of another layout or other strides (Ha et al. 2013, section III-C). Same
/// extents; the batches must not overlap.
template <Scalar T>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                   MatrixBatch<T, core::Host> to);

#if APERTURE_CUDA
template <Scalar T>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device> from,
                   MatrixBatch<T, core::Device> to);
#endif

}  // namespace aperture::dense
