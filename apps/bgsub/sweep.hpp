// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bgsub/options.hpp"

namespace aperture::apps {

/// Runs a sweep over a clip, which is read and copied to the executor once. Runs that differ in
/// their masks alone share the background. With a true mask, masks that are comparisons with one
/// threshold are scored together, from one histogram, and made only where they are written.
///
/// Throws core::InvalidArgument as run_bgsub does.
template <class Executor>
void run_sweep_of_clip(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
                       Console& console);

}  // namespace aperture::apps
