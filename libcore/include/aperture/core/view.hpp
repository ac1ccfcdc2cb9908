// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <type_traits>

#include "aperture/core/portable.hpp"

namespace aperture::core {

/// Memory that the CPU can access.
struct Host {};
/// Memory of a GPU, accessible to kernels and copies only.
struct Device {};

/// Any strides.
struct Strided {};
/// A batch [problem][row][column], one matrix after another: the last extent is contiguous.
struct Concatenated {};
/// A batch [problem][row][column] in which element (row, column) of all problems is contiguous: the
/// stride of the first extent is one (Ha et al. 2013, section III-C).
struct Interleaved {};

/// A trivially copyable, non-owning, strided view of `Rank`-dimensional data: pointer, extents and
/// strides in elements. `View<const T, ...>` is read-only. Copying a view copies no data; a view
/// does not keep its data alive. Element access compiles only for Space = Host.
template <class T, int Rank, class Space = Host, class Layout = Strided>
struct View {
    static_assert(Rank >= 1);

    T* data = nullptr;
    std::array<index_t, Rank> extent{};
    std::array<index_t, Rank> stride{};

    View() = default;
    View(T* first, std::array<index_t, Rank> extents, std::array<index_t, Rank> strides)
        : data(first), extent(extents), stride(strides) {}
    /// A dense view in the layout's own order: C order, or problem-fastest for Interleaved.
    View(T* first, std::array<index_t, Rank> extents)
        : data(first), extent(extents), stride(dense_strides(extents)) {}

    /// Converts a view of mutable data to one of constant data, and a named layout to Strided.
    template <class U, class OtherLayout>
    requires(std::is_convertible_v<U (*)[], T (*)[]> &&
             (std::same_as<Layout, OtherLayout> || std::same_as<Layout, Strided>))
        View(const View<U, Rank, Space, OtherLayout>& other)
        : data(other.data), extent(other.extent), stride(other.stride) {}

    template <std::convertible_to<index_t>... Index>
    requires(sizeof...(Index) == Rank && std::same_as<Space, Host>) T& operator()(
        Index... position) const {
        return data[offset({static_cast<index_t>(position)...})];
    }

    index_t offset(const std::array<index_t, Rank>& position) const {
        index_t sum = 0;
        for (int d = 0; d < Rank; ++d) {
            assert(position[d] >= 0 && position[d] < extent[d]);
            sum += position[d] * stride[d];
        }
        return sum;
    }

    index_t size() const {
        index_t product = 1;
        for (index_t e : extent) product *= e;
        return product;
    }
    bool empty() const { return size() == 0; }
    /// True where the elements lie densely in the layout's own order.
    bool dense() const { return empty() || stride == dense_strides(extent); }

    /// The part [begin, end) of dimension `dimension`.
    View slice(int dimension, index_t begin, index_t end) const {
        assert(0 <= begin && begin <= end && end <= extent[dimension]);
        View part = *this;
        part.data += begin * stride[dimension];
        part.extent[dimension] = end - begin;
        return part;
    }

    static std::array<index_t, Rank> dense_strides(const std::array<index_t, Rank>& extents) {
        std::array<index_t, Rank> strides{};
        index_t next = 1;
        if constexpr (std::same_as<Layout, Interleaved>) {
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
};

}  // namespace aperture::core
