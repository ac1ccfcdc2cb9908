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

/// Strides of a batch with gaps, and the numbers from its first to its last.
struct Padding {
    core::Extents<3> stride;
    core::index_t size;
};

/// Gaps that make a batch [problem][row][column] of T in `Layout` faster to access, at most a tenth
/// of its memory; none where they cost more (Ha et al. 2013, section III-C).
///   - Concatenated: matrices begin at multiples of 128, 64, 32 or 16 bytes, the largest that is
///     affordable.
///   - Interleaved: an entry's numbers begin at multiples of 128 bytes and not at multiples of a
///     page, which would all fall into the same few sets of the caches.
template <Scalar T, class Layout>
constexpr Padding padded(core::Extents<3> extent) {
    constexpr core::index_t line = 128 / core::index_t{sizeof(T)};
    const auto [problems, rows, columns] = extent;
    const core::index_t entries = rows * columns;
    const auto affordable = [](core::index_t with, core::index_t without) {
        return 10 * (with - without) <= without;
    };
    const auto rounded = [](core::index_t n, core::index_t unit) {
        return (n + unit - 1) / unit * unit;
    };
    if constexpr (std::same_as<Layout, core::Interleaved>) {
        core::index_t array = rounded(problems, line);
        if (array % (32 * line) == 0) array += line;
        if (!affordable(array, problems)) array = problems;
        return {{1, columns * array, array}, entries * array};
    } else {
        static_assert(std::same_as<Layout, core::Concatenated>);
        core::index_t matrix = entries;
        for (core::index_t unit = line; unit > 1 && unit * core::index_t{sizeof(T)} >= 16;
             unit /= 2) {
            if (affordable(rounded(entries, unit), entries)) {
                matrix = rounded(entries, unit);
                break;
            }
        }
        return {{matrix, columns, 1}, problems * matrix};
    }
}

/// Copies a batch to one of another layout or other strides (Ha et al. 2013, section III-C). Same
/// extents; the batches must not overlap.
template <Scalar T>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                   MatrixBatch<T, core::Host> to);

namespace detail {
/// Changes `count` contiguous numbers.
template <class T>
using ChangeNumbers = void (*)(const void* context, T* numbers, core::index_t count);
template <Scalar T>
void change_layout_by(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                      MatrixBatch<T, core::Host> to, ChangeNumbers<T> change, const void* context);
}  // namespace detail

/// The same with to = functor(from), entry by entry: one reading and one writing instead of two.
/// The functor, of a T, must not throw. For nvcc, change_layout.cuh has the same for a Gpu.
template <Scalar T, class Functor>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                   MatrixBatch<T, core::Host> to, const Functor& functor) {
    detail::change_layout_by<T>(
        cpu, from, to,
        [](const void* context, T* numbers, core::index_t count) {
            const Functor& change = *static_cast<const Functor*>(context);
            for (core::index_t i = 0; i < count; ++i) numbers[i] = change(numbers[i]);
        },
        &functor);
}

#if APERTURE_CUDA
template <Scalar T>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device> from,
                   MatrixBatch<T, core::Device> to);
#endif

}  // namespace aperture::dense
