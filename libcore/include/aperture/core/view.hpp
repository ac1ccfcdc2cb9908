// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/extents.hpp"

#if defined(__CUDACC_RTC__)
// The run-time compiler has no standard headers.
#define APERTURE_ASSERT(condition)
#else
#include <cassert>
#define APERTURE_ASSERT(condition) assert(condition)
#endif

namespace aperture::core {

/// Memory that the CPU can access.
struct Host {};
/// Memory of a GPU, accessible to kernels and copies only.
struct Device {};

/// The memory of the executor that runs a kernel, for the kernel: `kernel_view` makes views of it.
struct Kernel {};

/// Any strides.
struct Strided {};
/// A batch [problem][row][column], one matrix after another, or planes of an image: the last extent
/// is contiguous.
struct Concatenated {};
/// A batch [problem][row][column] in which element (row, column) of all problems is contiguous: the
/// stride of the first extent is one (Ha et al. 2013, section III-C).
struct Interleaved {};

namespace detail {
template <class, class>
inline constexpr bool same_type = false;
template <class T>
inline constexpr bool same_type<T, T> = true;

template <class From, class To>
inline constexpr bool same_or_const = same_type<To, From> || same_type<To, const From>;
template <class From, class To>
inline constexpr bool same_or_strided = same_type<To, From> || same_type<To, Strided>;

template <class Space>
inline constexpr bool accessible = !same_type<Space, Device>;
}  // namespace detail

/// A trivially copyable, non-owning, strided view of `Rank`-dimensional data: pointer, extents and
/// strides in elements, for host code and for kernels. `View<const T, ...>` is read-only. Copying a
/// view copies no data; a view does not keep its data alive. Elements of Device memory cannot be
/// accessed; kernels have views of Kernel memory.
template <class T, int Rank, class Space = Host, class Layout = Strided>
struct View {
    static_assert(Rank >= 1);

    /// The dimension whose stride is one by the layout; -1 if none is.
    static constexpr int contiguous = detail::same_type<Layout, Concatenated>  ? Rank - 1
                                      : detail::same_type<Layout, Interleaved> ? 0
                                                                               : -1;

    T* data = nullptr;
    Extents<Rank> extent{};
    Extents<Rank> stride{};

    View() = default;
    APERTURE_HD View(T* first, Extents<Rank> extents, Extents<Rank> strides)
        : data(first), extent(extents), stride(strides) {
        if constexpr (contiguous >= 0) {
            APERTURE_ASSERT(extents[contiguous] <= 1 || strides[contiguous] == 1);
        }
    }
    /// A dense view in the layout's own order: C order, or problem-fastest for Interleaved.
    APERTURE_HD View(T* first, Extents<Rank> extents)
        : data(first), extent(extents), stride(dense_strides(extents)) {}

    /// Converts a view of mutable data to one of constant data, and a named layout to Strided.
    template <class U, class OtherLayout>
    requires(detail::same_or_const<U, T>&& detail::same_or_strided<OtherLayout, Layout>) APERTURE_HD
        View(const View<U, Rank, Space, OtherLayout>& other)
        : data(other.data), extent(other.extent), stride(other.stride) {}

    template <class... Index>
    requires(sizeof...(Index) == Rank && detail::accessible<Space>) APERTURE_HD T& operator()(
        Index... position) const {
        // Advances a pointer: with a sum of offsets, kernels that access neighbours need more
        // registers.
        T* element = data;
        int d = 0;
        ((element += distance(d++, position)), ...);
        return *element;
    }
    /// Element `i` of a view of rank 1, else the view of the remaining dimensions at `i`.
    APERTURE_HD decltype(auto) operator[](index_t i) const {
        APERTURE_ASSERT(i >= 0 && i < extent[0]);
        if constexpr (Rank == 1) {
            static_assert(detail::accessible<Space>);
            return (data[i * stride[0]]);
        } else {
            View<T, Rank - 1, Space> part;
            part.data = data + i * stride[0];
            for (int d = 1; d < Rank; ++d) {
                part.extent[d - 1] = extent[d];
                part.stride[d - 1] = stride[d];
            }
            return part;
        }
    }

    APERTURE_HD index_t size() const {
        index_t product = 1;
        for (index_t e : extent) product *= e;
        return product;
    }
    APERTURE_HD bool empty() const { return size() == 0; }
    /// True where the elements lie densely in the layout's own order. The stride of an extent of
    /// one has no meaning.
    APERTURE_HD bool dense() const {
        const Extents<Rank> wanted = dense_strides(extent);
        bool matches = true;
        for (int d = 0; d < Rank; ++d) {
            matches = matches && (extent[d] == 1 || stride[d] == wanted[d]);
        }
        return matches || empty();
    }

    /// The part [begin, end) of dimension `dimension`.
    APERTURE_HD View slice(int dimension, index_t begin, index_t end) const {
        APERTURE_ASSERT(0 <= begin && begin <= end && end <= extent[dimension]);
        View part = *this;
        part.data += begin * stride[dimension];
        part.extent[dimension] = end - begin;
        return part;
    }

    APERTURE_HD static Extents<Rank> dense_strides(const Extents<Rank>& extents) {
        Extents<Rank> strides{};
        index_t next = 1;
        if constexpr (detail::same_type<Layout, Interleaved>) {
            strides[0] = next;
            next *= extents[0];
            for (int d = Rank - 1; d >= 1; --d) {
                strides[d] = next;
                next *= extents[d];
            }
        } else {
            for (int d = Rank - 1; d >= 0; --d) {
                strides[d] = next;
                next *= extents[d];
            }
        }
        return strides;
    }

  private:
    APERTURE_HD index_t distance(int d, index_t i) const {
        APERTURE_ASSERT(i >= 0 && i < extent[d]);
        return d == contiguous ? i : i * stride[d];
    }
};

/// A view that a kernel can access, whatever runs the kernel.
template <class T, int Rank>
using KernelView = View<T, Rank, Kernel>;

}  // namespace aperture::core
