// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/free_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace aperture::apps {
namespace {

/// What `file` holds, where that is one number.
std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::int64_t value = 0;
    if (in >> value) return value;
    return std::nullopt;
}

std::optional<std::int64_t> available_in_machine() {
    std::ifstream in("/proc/meminfo");
    std::string name;
    std::int64_t kilobytes = 0;
    std::string unit;
    while (in >> name >> kilobytes) {
        std::getline(in, unit);
        if (name == "MemAvailable:") return kilobytes * 1024;
    }
    return std::nullopt;
}

/// By the limit of the control group (version 2, as containers see it).
std::optional<std::int64_t> available_in_group() {
    const auto most = number_in("/sys/fs/cgroup/memory.max");
    const auto used = number_in("/sys/fs/cgroup/memory.current");
    if (!most || !used) return std::nullopt;
    return std::max<std::int64_t>(*most - *used, 0);
}

}  // namespace

std::optional<std::int64_t> free_memory() {
    const auto machine = available_in_machine();
    const auto group = available_in_group();
    if (machine && group) return std::min(*machine, *group);
    return machine ? machine : group;
}

}  // namespace aperture::apps
