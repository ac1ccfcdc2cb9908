// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/run_copy.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include "libcore/cpu/past_caches.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::core {

namespace {

/// Of a thread at a time: short beside a copy of some megabytes, for whose last part all wait.
constexpr index_t part_bytes = 64 << 10;

/// Of runs that are stored past the caches; their first and last cache lines are not.
constexpr index_t least_past_caches = 4 << 10;

/// Copies the bytes [begin, end) of all runs one after the other.
void copy_part(const RunCopy& copy, index_t begin, index_t end, Stores stores) {
    while (begin < end) {
        index_t run = begin / copy.run_bytes;
        const index_t first = begin % copy.run_bytes;
        const index_t bytes = std::min(copy.run_bytes - first, end - begin);
        index_t from = first, to = first;
        for (int d = copy.dimensions - 1; d >= 0; --d) {
            const auto& [extent, from_stride, to_stride] = copy.dimension[std::size_t(d)];
            const index_t i = run % extent;
            run /= extent;
            from += i * from_stride;
            to += i * to_stride;
        }
        if (stores == Stores::past_caches && copy.run_bytes >= least_past_caches) {
            copy_past_caches(copy.from + from, static_cast<std::size_t>(bytes), copy.to + to);
        } else {
            std::memcpy(copy.to + to, copy.from + from, static_cast<std::size_t>(bytes));
        }
        begin += bytes;
    }
    if (stores == Stores::past_caches) complete_stores();
}

}  // namespace

RunCopy::RunCopy(const void* source, void* target, std::size_t element_bytes,
                 std::span<const Dimension> of_elements)
    : from(static_cast<const std::byte*>(source)),
      to(static_cast<std::byte*>(target)),
      run_bytes(static_cast<index_t>(element_bytes)) {
    std::array<Dimension, most_dimensions> inner_first{};
    const auto last = std::copy_if(of_elements.begin(), of_elements.end(), inner_first.begin(),
                                   [](const Dimension& d) { return d.extent != 1; });
    std::stable_sort(inner_first.begin(), last, [](const Dimension& a, const Dimension& b) {
        return a.to_stride < b.to_stride;
    });
    for (auto next = inner_first.begin(); next != last; ++next) {
        if (dimensions == 0 && next->from_stride == run_bytes && next->to_stride == run_bytes) {
            run_bytes *= next->extent;
            continue;
        }
        if (dimensions > 0) {
            Dimension& inner = dimension[std::size_t(dimensions - 1)];
            if (next->from_stride == inner.from_stride * inner.extent &&
                next->to_stride == inner.to_stride * inner.extent) {
                inner.extent *= next->extent;
                continue;
            }
        }
        dimension[std::size_t(dimensions++)] = *next;
    }
    std::reverse(dimension.begin(), dimension.begin() + dimensions);
}

index_t RunCopy::runs() const {
    index_t product = 1;
    for (int d = 0; d < dimensions; ++d) product *= dimension[std::size_t(d)].extent;
    return product;
}

bool RunCopy::is_rectangle() const {
    const auto allowed = [this](index_t stride) {
        return stride >= run_bytes && stride <= INT_MAX;
    };
    return dimensions == 0 || (dimensions == 1 && allowed(dimension[0].from_stride) &&
                               allowed(dimension[0].to_stride));
}

void copy_runs(Cpu& cpu, const RunCopy& copy, Stores stores) {
    const index_t bytes = copy.bytes();
    for_each_task(cpu, ceil_div(bytes, part_bytes), 0, [&](index_t part, std::byte*) {
        copy_part(copy, part * part_bytes, std::min((part + 1) * part_bytes, bytes), stores);
    });
}

void copy_runs(const RunCopy& copy) { copy_part(copy, 0, copy.bytes(), Stores::cached); }

}  // namespace aperture::core
