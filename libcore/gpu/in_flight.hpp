// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace aperture::core {

/// Processes pieces in their order, as many at a time as there are slots: `start(slot, piece)`
/// submits a piece to the slot's stream, `finish(slot)` waits for what was started in it. While one
/// piece computes, others are copied.
template <class Slots, class Pieces, class Start, class Finish>
void keep_in_flight(Slots& slots, const Pieces& pieces, const Start& start, const Finish& finish) {
    const std::size_t places = slots.size();
    std::size_t started = 0;
    for (const auto& piece : pieces) {
        auto& slot = slots[started % places];
        if (started >= places) finish(slot);
        start(slot, piece);
        ++started;
    }
    for (std::size_t i = started < places ? 0 : started - places; i < started; ++i) {
        finish(slots[i % places]);
    }
}

}  // namespace aperture::core
