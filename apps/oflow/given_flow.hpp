// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/oflow/options.hpp"

namespace aperture::apps {

/// Draws a flow that is read from a file, and with --truth compares it.
void draw_given_flow(const OflowOptions& options, core::Cpu& cpu, Console& console);

}  // namespace aperture::apps
