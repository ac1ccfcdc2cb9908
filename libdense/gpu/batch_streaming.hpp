// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pieces of batches on any executor: their size, and their way to its memory and back.

#include <algorithm>
#include <memory>
#include <vector>

#include "aperture/dense/batch_streaming.hpp"
#include "libcore/gpu/device_budget.hpp"
#include "libcore/gpu/in_flight.hpp"
#include "libcore/gpu/mirrored_array.hpp"
#include "libcore/rounding.hpp"

namespace aperture::dense::detail {

using core::ceil_div;
using core::index_t;

/// One piece is copied to the device, one computes and one is copied back.
inline constexpr index_t most_in_flight = 3;

/// The problems of a piece, and how many pieces are in memory at a time.
struct PiecePlan {
    index_t problems = 0;
    index_t in_flight = 0;
};

template <class Executor>
bool is_locked(Executor& executor, const StreamedBytes& operand) {
    index_t last = 0;
    for (int d = 0; d < 4; ++d) last += (operand.host.extent[d] - 1) * operand.host.stride[d];
    return has_locked_pages(executor, operand.host.data, std::size_t(last) + 1);
}

inline index_t problem_bytes(const StreamedBytes& operand) {
    return operand.host.extent[1] * operand.host.extent[2] * operand.host.extent[3];
}

/// Throws core::InvalidArgument unless all operands have the same number of problems, which it
/// returns.
inline index_t expects_one_batch(std::span<const StreamedBytes> operands) {
    const index_t problems = operands[0].host.extent[0];
    for (std::size_t i = 1; i < operands.size(); ++i) {
        core::expects(operands[i].host.extent[0] == problems, "for_each_piece: operand ", i,
                      " holds ", operands[i].host.extent[0], " problems, operand 0 holds ",
                      problems);
    }
    return problems;
}

/// The problems of a piece of which a device copies an operand's part in long runs.
template <class Executor>
index_t problems_of_long_runs(Executor& executor, const StreamedBytes& operand) {
    // GB/s of both directions at once, rows 600,000 bytes apart, H100: 1 KiB 25, 4 KiB 32, 9 KiB
    // 27, 16 KiB 46, 32 KiB 49, one run 50.
    constexpr index_t long_bytes = 32 << 10;
    const ByteBatch<core::Host>& host = operand.host;
    const index_t element = host.extent[3];
    const bool is_interleaved = host.stride[0] == element && host.extent[1] * host.extent[2] > 1;
    if (!is_interleaved || host.empty() || !(operand.is_read || operand.is_written)) return 1;
    return is_locked(executor, operand) ? ceil_div(long_bytes, element) : 1;
}

/// The first copy in and the last one out overlap nothing: many small pieces make them short. A
/// piece must be long beside the some 10 us of its submission, and has at least `long_runs`
/// problems where that leaves several pieces.
inline PiecePlan plan_pieces(std::span<const StreamedBytes> operands,
                             const core::DeviceBudget& budget, index_t long_runs = 1) {
    constexpr index_t least_bytes = 4 << 20, most_bytes = 32 << 20;
    constexpr index_t pieces_of_a_batch = 64, least_pieces = 8;
    constexpr index_t lanes = 32;  // rows of interleaved pieces are aligned
    const index_t problems = expects_one_batch(operands);
    if (problems == 0) return {};
    index_t each = 0;
    for (const StreamedBytes& operand : operands) each += problem_bytes(operand);
    budget.expects(std::size_t(each) <= budget.bytes, "one problem", std::size_t(each));
    each = std::max<index_t>(each, 1);
    const auto room = static_cast<index_t>(budget.bytes) / each;
    const index_t in_flight = std::min(most_in_flight, room);
    const index_t bytes =
        std::clamp(ceil_div(problems * each, pieces_of_a_batch), least_bytes, most_bytes);
    const index_t least = std::max<index_t>(std::min(long_runs, problems / least_pieces), 1);
    index_t of_a_piece = std::min(std::max(bytes / each, least), room / in_flight);
    if (of_a_piece > lanes) of_a_piece -= of_a_piece % lanes;
    of_a_piece = std::min(of_a_piece, problems);
    return {of_a_piece, std::min(in_flight, ceil_div(problems, of_a_piece))};
}

struct ProblemSpan {
    index_t begin, end;
};
inline std::vector<ProblemSpan> spans_of(index_t problems, const PiecePlan& plan) {
    std::vector<ProblemSpan> spans;
    for (index_t begin = 0; begin < problems; begin += plan.problems) {
        spans.push_back({begin, std::min(begin + plan.problems, problems)});
    }
    return spans;
}

/// Strides without gaps, in the order of those of `batch`.
inline core::Extents<4> dense_strides_like(const ByteBatch<core::Host>& batch) {
    std::array<int, 3> order{0, 1, 2};
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return batch.stride[a] < batch.stride[b]; });
    core::Extents<4> strides{};
    strides[3] = 1;
    index_t next = batch.extent[3];
    for (const int d : order) {
        strides[d] = next;
        next *= batch.extent[d];
    }
    return strides;
}

/// One operand's memory for a piece in flight.
template <class Executor>
class OperandPiece {
  public:
    using Space = typename Executor::Space;

    OperandPiece(Executor& executor, const StreamedBytes& operand, index_t problems)
        : executor_(executor), operand_(operand), memory_(executor) {
        const ByteBatch<core::Host> whole = operand.host.slice(0, 0, problems);
        extent_ = whole.extent;
        stride_ = dense_strides_like(whole);
        const bool is_copied = (operand.is_read || operand.is_written) && !whole.empty();
        is_direct_ = is_copied && goes_directly(whole);
        if (is_copied && !is_direct_) {
            memory_.reshape({whole.size()});
        } else {
            memory_.reshape_device({whole.size()});
        }
    }

    /// The device view of a piece.
    ByteBatch<Space> device(ProblemSpan span) { return part(memory_.device(), span); }

    void load(core::Cpu& cpu, ProblemSpan span) {
        if (!operand_.is_read) return;
        if (is_direct_) {
            copy_runs(executor_, core::RunCopy(host(span), device(span)));
            return;
        }
        core::copy_runs(cpu, core::RunCopy(host(span), mirror(span)));
        copy_runs(executor_, core::RunCopy(mirror(span), device(span)));
    }
    /// Submits the copy to the host.
    void store(ProblemSpan span) {
        if (!operand_.is_written) return;
        copy_runs(executor_, core::RunCopy(device(span), is_direct_ ? host(span) : mirror(span)));
    }
    /// Ends the copy, when the executor's work is done.
    void finish(core::Cpu& cpu, ProblemSpan span) {
        if (!operand_.is_written || is_direct_) return;
        core::copy_runs(cpu, core::RunCopy(mirror(span), host(span)), core::Stores::past_caches);
    }

  private:
    /// Narrower blocks go faster by way of our own locked memory.
    static constexpr index_t least_run_bytes = 512;

    bool goes_directly(const ByteBatch<core::Host>& piece) const {
        ByteBatch<core::Host> there = piece;
        there.stride = stride_;
        const core::RunCopy copy(piece, there);
        if (!copy.is_rectangle()) return false;
        if (copy.dimensions > 0 && copy.run_bytes < least_run_bytes) return false;
        return is_locked(executor_, operand_);
    }

    ByteBatch<core::Host> host(ProblemSpan span) const {
        return operand_.host.slice(0, span.begin, span.end);
    }
    ByteBatch<core::Host> mirror(ProblemSpan span) { return part(memory_.host(), span); }
    template <class Memory>
    ByteBatch<Memory> part(const core::View<std::byte, 1, Memory>& bytes, ProblemSpan span) const {
        return ByteBatch<Memory>(bytes.data, extent_, stride_).slice(0, 0, span.end - span.begin);
    }

    Executor& executor_;
    StreamedBytes operand_;
    core::Extents<4> extent_{}, stride_{};
    bool is_direct_ = false;
    core::MirroredArray<std::byte, 1, Executor> memory_;
};

/// A piece of all operands in flight on one executor. Its memory goes when the executor's work is
/// done.
template <class Executor>
class BatchPiece {
  public:
    BatchPiece(Executor& executor, core::Cpu& cpu, std::span<const StreamedBytes> operands,
               index_t problems)
        : executor_(executor), cpu_(cpu) {
        for (const StreamedBytes& operand : operands) {
            operands_.push_back(
                std::make_unique<OperandPiece<Executor>>(executor, operand, problems));
        }
    }

    void start(ProblemSpan span, const PieceFunction<Executor>& function) {
        span_ = span;
        std::vector<ByteBatch<typename Executor::Space>> pieces;
        for (const auto& operand : operands_) {
            operand->load(cpu_, span);
            pieces.push_back(operand->device(span));
        }
        function(executor_, pieces);
        for (const auto& operand : operands_) operand->store(span);
    }
    void finish() {
        executor_.synchronize();
        for (const auto& operand : operands_) operand->finish(cpu_, span_);
    }

  private:
    Executor& executor_;
    core::Cpu& cpu_;
    ProblemSpan span_{};
    std::vector<std::unique_ptr<OperandPiece<Executor>>> operands_;
};

/// Piece i is on executor i modulo `plan.in_flight`.
template <class Executor>
void run_in_pieces(std::span<Executor* const> executors, std::span<const StreamedBytes> operands,
                   const PiecePlan& plan, const PieceFunction<Executor>& function) {
    core::Cpu cpu;
    std::vector<std::unique_ptr<BatchPiece<Executor>>> slots;
    for (Executor* executor : executors.first(std::size_t(plan.in_flight))) {
        slots.push_back(
            std::make_unique<BatchPiece<Executor>>(*executor, cpu, operands, plan.problems));
    }
    core::keep_in_flight(
        slots, spans_of(operands[0].host.extent[0], plan),
        [&](auto& slot, ProblemSpan span) { slot->start(span, function); },
        [](auto& slot) { slot->finish(); });
}

}  // namespace aperture::dense::detail
