// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/view.hpp"
#include "docs/examples/kalman_update.hpp"

namespace aperture::dense::elements {

using core::index_t;

/// Where the entries of problems are; `gap` entries between them.
template <class T, int Rank>
struct Placed {
    std::vector<T> store;
    core::View<T, Rank, core::Host> view;

    Placed(core::Extents<Rank> extent, bool interleaved, index_t gap = 0) {
        core::Extents<Rank> padded = extent;
        padded[interleaved ? 0 : Rank - 1] += gap;
        using Interleaved = core::View<T, Rank, core::Host, core::Interleaved>;
        using Concatenated = core::View<T, Rank, core::Host, core::Concatenated>;
        view.extent = extent;
        view.stride =
            interleaved ? Interleaved::dense_strides(padded) : Concatenated::dense_strides(padded);
        index_t size = 1;
        for (const index_t e : padded) size *= e;
        store.assign(static_cast<std::size_t>(size), T(-777));
        view.data = store.data();
    }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    Placed(Placed&&) = default;
    Placed& operator=(Placed&&) = delete;

    Placed copy() const {
        Placed other(view.extent, false);
        other.store = store;
        other.view.stride = view.stride;
        other.view.data = other.store.data();
        return other;
    }
};

/// Kalman filters with random states, covariances and measurements.
template <class T>
struct Filters {
    Placed<T, 2> x;
    Placed<T, 3> p;
    Placed<T, 2> z;

    Filters(index_t problems, bool interleaved, index_t gap);
};

/// Compares filter f with the update as textbooks have it.
template <class T>
void expect_updated(const KalmanUpdate& model, const Filters<T>& before, const Filters<T>& after,
                    index_t f);

}  // namespace aperture::dense::elements
