// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace aperture::apps {

/// "3", "-1.5e2", "+14"; throws core::InvalidArgument "OPTION TEXT: expected a number" otherwise.
double parse_number(std::string_view option, std::string_view text);

/// Splits at every `separator`; the empty text gives one empty field.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace aperture::apps
