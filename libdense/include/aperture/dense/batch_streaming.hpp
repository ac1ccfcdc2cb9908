// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

/// Batches in host memory that a GPU processes in pieces, because they may be larger than its
/// memory.
namespace aperture::dense {

/// An operand of `for_each_piece`: a batch in host memory, of matrices, vectors or single values,
/// and which ways it is copied. Made by the functions below.
template <class T, int Rank>
struct StreamedOperand {
    static_assert(Rank >= 1 && Rank <= 3);
    core::View<T, Rank, core::Host> host;
    bool is_read, is_written;
};

/// The function reads it: pieces are copied to the GPU.
template <class T, int Rank, class Layout>
StreamedOperand<const T, Rank> input(const core::View<T, Rank, core::Host, Layout>& batch) {
    return {batch, true, false};
}
/// The function writes all of it: pieces are copied to the host.
template <class T, int Rank, class Layout>
requires(!std::is_const_v<T>)
    StreamedOperand<T, Rank> output(const core::View<T, Rank, core::Host, Layout>& batch) {
    return {batch, false, true};
}
/// The function reads and overwrites it, as the right-hand sides of `solve`.
template <class T, int Rank, class Layout>
requires(!std::is_const_v<T>)
    StreamedOperand<T, Rank> in_place(const core::View<T, Rank, core::Host, Layout>& batch) {
    return {batch, true, true};
}
/// Memory on the GPU alone, of extents [problem][row][column] or fewer, for what one function
/// writes and another one reads.
template <class T, int Rank>
StreamedOperand<T, Rank> temporary(const core::Extents<Rank>& extents) {
    return {{nullptr, extents}, false, false};
}

namespace detail {

/// An operand or a piece of it as bytes: [problem][row][column][byte], strides in bytes.
template <class Space>
using ByteBatch = core::View<std::byte, 4, Space>;

struct StreamedBytes {
    ByteBatch<core::Host> host;
    bool is_read, is_written;
};

template <class T, int Rank>
StreamedBytes bytes_of(const StreamedOperand<T, Rank>& operand) {
    constexpr auto size = static_cast<core::index_t>(sizeof(T));
    StreamedBytes bytes{{}, operand.is_read, operand.is_written};
    bytes.host.data =
        reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(operand.host.data));
    bytes.host.extent = {1, 1, 1, size};
    bytes.host.stride = {size, size, size, 1};
    for (int d = 0; d < Rank; ++d) {
        bytes.host.extent[d] = operand.host.extent[d];
        bytes.host.stride[d] = operand.host.stride[d] * size;
    }
    return bytes;
}

/// The piece of an operand of the same type.
template <class T, int Rank, class Space>
core::View<T, Rank, Space> piece_of(const StreamedOperand<T, Rank>&,
                                    const ByteBatch<Space>& bytes) {
    core::View<T, Rank, Space> piece;
    piece.data = reinterpret_cast<T*>(bytes.data);
    for (int d = 0; d < Rank; ++d) {
        piece.extent[d] = bytes.extent[d];
        piece.stride[d] = bytes.stride[d] / static_cast<core::index_t>(sizeof(T));
    }
    return piece;
}

/// Calls function(executor, pieces) with a ByteBatch of each operand.
template <class Executor>
using PieceFunction =
    std::function<void(Executor&, std::span<const ByteBatch<typename Executor::Space>>)>;

template <class Executor, class Function, class Operands, std::size_t... i>
void call_with_pieces(Executor& executor, const Function& function, const Operands& operands,
                      std::span<const ByteBatch<typename Executor::Space>> pieces,
                      std::index_sequence<i...>) {
    function(executor, piece_of(std::get<i>(operands), pieces[i])...);
}

/// The PieceFunction that calls `function` with views of the operands' types.
template <class Executor, class Function, class... Operands>
PieceFunction<Executor> piece_function(const Function& function, const Operands&... operands) {
    return [&function, all = std::tuple(operands...)](Executor& executor, auto pieces) {
        call_with_pieces(executor, function, all, pieces, std::index_sequence_for<Operands...>{});
    };
}

void for_each_piece(core::Gpu& gpu, std::size_t device_bytes,
                    std::span<const StreamedBytes> operands,
                    const PieceFunction<core::Gpu>& function);

}  // namespace detail

/// Calls function(gpu, pieces...) for consecutive pieces of a batch in host memory. The pieces are
/// device views of the same problems of each operand, in the order of `operands`; those of an input
/// are constant. The function submits work for them to the executor that it is given, by one or
/// more of this library's functions:
///
///     for_each_piece(
///         gpu, 0,
///         [](core::Gpu& on, auto a, auto g, auto info) { factor_cholesky(on, a, g, info); },
///         input(a), output(g), output(info));
///
/// While one piece is computed, others are copied to and from the GPU. At most `device_bytes` of
/// device memory are allocated for operands (0: what is free, less a tenth); scratch memory that a
/// function takes of its executor, because a matrix does not fit in shared memory, is on top.
///
/// Operands are batches as in batch.hpp, with any strides; a piece has its operand's layout,
/// without gaps. All have the same number of problems. An output may be the view of an input.
/// Gaps between elements are not touched. Locked host memory (core::Pages) goes to and from the GPU
/// directly if a piece is one block of memory or, as in an interleaved batch, blocks of at least
/// half a KiB at one distance. All other memory passes through locked memory of the library, to and
/// from which the host's threads copy.
///
/// Waits for the executor's earlier work, and is synchronous. A checkpoint of `gpu` is called
/// before each piece and while the host waits. Its exception, or one of `function`, ends the call
/// when what was submitted is done: outputs are then incomplete, and nothing touches the operands
/// afterwards. Throws core::InvalidArgument for operands of different numbers of problems and for
/// `device_bytes` in which one problem does not fit; core::UnfitDevice for 0 if so little is free.
/// Defined in builds with CUDA.
template <class Function, class... T, int... Rank>
requires(sizeof...(T) > 0) void for_each_piece(core::Gpu& gpu, std::size_t device_bytes,
                                               const Function& function,
                                               const StreamedOperand<T, Rank>&... operands) {
    const std::array bytes{detail::bytes_of(operands)...};
    detail::for_each_piece(gpu, device_bytes, bytes,
                           detail::piece_function<core::Gpu>(function, operands...));
}

}  // namespace aperture::dense
