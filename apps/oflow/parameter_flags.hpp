// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/flow/words.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// What determines the parameters before other flags override them.
struct PresetChoice {
    flow::Method method = flow::Method::horn_schunck;
    flow::Preset preset = flow::Preset::fast;
    std::optional<flow::Solver> solver;  ///< default: the preset's
};

/// Adds the flags of the estimation. `parameters` are complete once the line is parsed again, after
/// they were set to those of the parsed choice.
void add_parameter_options(CommandLine& line, PresetChoice& choice, flow::Parameters& parameters);

/// Throws core::InvalidArgument for values out of range and for flags without effect, since they
/// show a misunderstanding.
void check_parameters(const CommandLine& line, const flow::Parameters& parameters);

}  // namespace aperture::apps
