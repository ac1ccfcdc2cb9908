// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/report.hpp"
#include "aperture/media/atomic_file.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// Adds the report to the outputs of the run, where --report asks for it.
void add_report(const RunOptions& options, const core::Report& report, media::OutputSet& outputs);

}  // namespace aperture::apps
