// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/report.hpp"
#include "aperture/media/atomic_file.hpp"
#include "apps/common/executor_choice.hpp"
#include "apps/common/result_parameters.hpp"
#include "apps/common/timed_runs.hpp"

namespace aperture::apps {

/// The report's common first entries for a run on `executor`.
template <class Executor>
core::Report begin_report(const std::string& program, const Executor& executor,
                          const RunTimes& times, ResultParameters parameters) {
    core::Report report;
    report.program = program;
    report.device = executor.name();
    if constexpr (!is_gpu<Executor>) report.threads = executor.threads();
    report.parameters = std::move(parameters);
    report.stages = times.stages;
    report.compute_ms = times.compute_ms;
    report.transfer_ms = times.transfer_ms;
    return report;
}

/// Adds the report to the run's outputs if --report asks for it.
void add_report(const RunOptions& options, const core::Report& report, media::OutputSet& outputs);

}  // namespace aperture::apps
