// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/corr/correlator.hpp"

namespace aperture::corr {

/// The faster method for `problem`, whose own method does not matter, on `threads` of the CPU.
Method choose_method(const Problem& problem, int threads);

}  // namespace aperture::corr
