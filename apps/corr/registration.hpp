// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/corr/options.hpp"

namespace aperture::apps {

/// `corr A B --register`: finds how B's content lies on A's, reports it, and writes what was asked
/// for.
void run_registration(const CorrOptions& options, core::Cpu& cpu, Console& console);

}  // namespace aperture::apps
