// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/report_file.hpp"

namespace aperture::apps {

void add_report(const RunOptions& options, const core::Report& report, media::OutputSet& outputs) {
    if (options.report) outputs.add(media::new_file(*options.report, report.json() + "\n"));
}

}  // namespace aperture::apps
