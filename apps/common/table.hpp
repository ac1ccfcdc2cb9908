// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/result_file.hpp"

namespace aperture::apps {

/// The columns, one or more, as comma-separated values with a line of names. Numbers are read back
/// as they are; texts with commas, quotes or ends of lines are quoted (RFC 4180).
std::string csv_text(const std::vector<media::Column>& columns);

}  // namespace aperture::apps
