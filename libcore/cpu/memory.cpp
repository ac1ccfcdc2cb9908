// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace aperture::core {
namespace {

using std::filesystem::path;

/// The number after `name` in a file of names and numbers; without a name, the first number.
std::optional<std::size_t> number_in(const path& file, const std::string& name = "") {
    std::ifstream stream(file);
    std::string word = name;
    while (!name.empty() && stream >> word && word != name) continue;
    std::size_t number = 0;
    if (stream >> number) return number;
    return std::nullopt;
}

/// Bytes left in a control group (version 2). Inactive file pages count as free: they can be
/// reread.
std::optional<std::size_t> left_in(const path& group) {
    const auto limit = number_in(group / "memory.max");
    const auto used = number_in(group / "memory.current");
    if (!limit || !used) return std::nullopt;
    const std::size_t files = number_in(group / "memory.stat", "inactive_file").value_or(0);
    const std::size_t taken = *used - std::min(*used, files);
    return *limit - std::min(*limit, taken);
}

path own_group() {
    std::ifstream stream("/proc/self/cgroup");
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with("0::/")) return path("/sys/fs/cgroup") / line.substr(4);
    }
    return "/sys/fs/cgroup";
}

}  // namespace

std::optional<std::size_t> available_memory() {
    std::optional<std::size_t> least = number_in("/proc/meminfo", "MemAvailable:");
    if (least) *least *= 1024;
    for (path group = own_group(); group.string().starts_with("/sys/fs/cgroup");
         group = group.parent_path()) {
        if (const auto left = left_in(group)) least = std::min(least.value_or(*left), *left);
    }
    return least;
}

}  // namespace aperture::core
