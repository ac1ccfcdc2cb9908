// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/tiles.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "libcompose/launch_shape.hpp"
#include "libcore/rounding.hpp"

namespace aperture::compose {

int maker_of(std::span<const PlannedCall> calls, std::size_t reader, SymbolId id) {
    auto maker = static_cast<int>(reader);
    const auto makes = [&](const std::vector<SymbolId>& results) {
        return std::find(results.begin(), results.end(), id) != results.end();
    };
    while (--maker >= 0 && !makes(calls[std::size_t(maker)].call->results)) continue;
    return maker;
}

namespace {

/// Calls action(call, maker, access, operand) for what calls of a kernel read; the maker may be -1.
template <class Action>
void for_each_operand(const std::vector<PlannedCall>& calls, const Action& action) {
    for (std::size_t i = calls.size(); i-- > 0;) {
        const std::vector<SymbolId>& operands = calls[i].call->operands;
        for (std::size_t k = 0; k < operands.size(); ++k) {
            action(i, maker_of(calls, i, operands[k]), calls[i].match.accesses[k], operands[k]);
        }
    }
}

}  // namespace

std::vector<KernelPart> tile_parts(const Kernel& kernel) {
    const std::vector<PlannedCall>& calls = kernel.calls;
    std::vector<bool> is_tile(calls.size());
    for_each_operand(calls, [&](std::size_t, int maker, const Access& access, SymbolId) {
        if (maker >= 0 && access.kind == Access::Kind::halo) is_tile[std::size_t(maker)] = true;
    });
    if (std::find(is_tile.begin(), is_tile.end(), true) == is_tile.end()) return {};

    KernelPart part{std::vector<bool>(calls.size()), {}, {}};
    for (std::size_t i = 0; i < calls.size(); ++i) {
        part.calls[i] = calls[i].match.results[0].is_scalar();
    }
    for (const SymbolId id : kernel.stores) {
        const auto maker = std::size_t(maker_of(calls, calls.size(), id));
        if (!is_tile[maker]) part.calls[maker] = true;
    }
    // From the last part backwards: what it reads tells which entries tiles must have.
    std::vector<KernelPart> parts;
    std::vector<Access> margins(calls.size());
    std::vector<bool> is_read(calls.size());
    const auto complete = [&] {
        for_each_operand(calls, [&](std::size_t call, int maker, const Access& access, SymbolId) {
            if (!part.calls[call] || maker < 0) return;
            const auto made = std::size_t(maker);
            if (!is_tile[made]) {
                part.calls[made] = true;
                return;
            }
            is_read[made] = true;
            Access& margin = margins[made];
            margin.above = std::max(margin.above, part.margin.above + access.above);
            margin.below = std::max(margin.below, part.margin.below + access.below);
            margin.left = std::max(margin.left, part.margin.left + access.left);
            margin.right = std::max(margin.right, part.margin.right + access.right);
        });
    };
    complete();
    for (std::size_t i = calls.size(); i-- > 0;) {
        if (!is_tile[i]) continue;
        if (part.tiles.empty() || part.margin != margins[i] || is_read[i]) {
            parts.insert(parts.begin(), part);
            part = {std::vector<bool>(calls.size()), {}, margins[i]};
            is_read.assign(calls.size(), false);
        }
        part.tiles.push_back(i);
        part.calls[i] = true;
        complete();
    }
    parts.insert(parts.begin(), part);
    return parts;
}

bool tiles_fit(const Kernel& kernel) {
    Kernel with(kernel);
    for (const PlannedCall& one : kernel.calls) {  // Any of these may live.
        with.stores.insert(with.stores.end(), one.call->results.begin(), one.call->results.end());
    }
    with.parts = tile_parts(with);
    bool fits = true;
    // Other tasks overwrite at any time what one loads for its margin.
    for_each_operand(
        kernel.calls, [&](std::size_t i, int maker, const Access& access, SymbolId id) {
            const bool is_around =
                access.of_tiles ||
                std::any_of(with.parts.begin(), with.parts.end(),
                            [&](const auto& part) { return !part.tiles.empty() && part.calls[i]; });
            fits = fits && !(is_around && maker < 0 &&
                             maker_of(kernel.calls, kernel.calls.size(), id) >= 0);
        });
    if (with.parts.empty()) return fits;
    return fits &&
           std::all_of(
               kernel.calls.begin(), kernel.calls.end(),
               [](const PlannedCall& one) {
                   return one.match.level == Level::sum ||
                          (one.match.level == Level::element && one.match.results.size() == 1);
               }) &&
           bytes_of_tiles(with, kernel.elements.extent[1]) <= most_bytes_of_tiles &&
           bytes_of_tiles(with, columns_of_block(kernel)) <= most_bytes_on_chip;
}

double tiles_from(const Machine& machine) {
    // A kernel has one image for neighbours, and a few others.
    constexpr double share = 0.25;
    return machine.cache_bytes > 0 ? share * machine.cache_bytes
                                   : std::numeric_limits<double>::infinity();
}

index_t rows_of_tile(const Access& margin) {
    return index_t(
        std::bit_ceil(std::size_t(kernels::strip_rows) + std::size_t(margin.above + margin.below)));
}

index_t bytes_of_tile(const Access& margin, Dtype dtype, index_t columns) {
    const index_t entries = rows_of_tile(margin) * (columns + margin.left + margin.right);
    return core::round_up(entries * bytes_of(dtype), 16);
}

index_t bytes_of_tiles(const Kernel& kernel, index_t columns) {
    index_t bytes = 0;
    for (const auto& [run, tiles, margin] : kernel.parts) {
        for (const std::size_t call : tiles) {
            bytes += bytes_of_tile(margin, kernel.calls[call].match.results[0].dtype, columns);
        }
    }
    return bytes;
}

}  // namespace aperture::compose
