// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/result_parameters.hpp"

#include <type_traits>

namespace aperture::apps {

std::string command_line(int argc, char** argv) {
    std::string line;
    for (int i = 0; i < argc; ++i) {
        if (i > 0) line += ' ';
        line += argv[i];
    }
    return line;
}

void write_parameters(media::ResultFile& file, const std::string& program,
                      const std::string& command_line, const ResultParameters& parameters) {
    file.attribute("/", "program", program);
    file.attribute("/", "version", std::string(core::version()));
    file.attribute("/", "git", std::string(core::git_commit()));
    file.attribute("/", "command_line", command_line);
    for (const auto& [name, value] : parameters) {
        std::visit(
            [&, &attribute = name](const auto& v) {
                using Value = std::decay_t<decltype(v)>;
                if constexpr (std::is_integral_v<Value>) {
                    file.attribute("/", attribute, static_cast<std::int64_t>(v));
                } else {
                    file.attribute("/", attribute, v);
                }
            },
            value);
    }
}

}  // namespace aperture::apps
