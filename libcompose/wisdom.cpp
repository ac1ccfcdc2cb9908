// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/wisdom.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcore/cache_folder.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Of a file; beyond that it begins anew.
constexpr off_t most_bytes = 4 << 20;

/// The text of a program whose extents are rounded. Orders of problems and numbers of diagonals are
/// not: they decide which kernels there can be.
std::string rounded_text(Program program) {
    for (Symbol& symbol : program.symbols) {
        Type& type = symbol.type;
        const bool of_diagonals =
            type.kind == Kind::diagonals || type.kind == Kind::image_diagonals;
        const int end = type.kind == Kind::batch ? 1 : type.rank;
        for (int i = of_diagonals ? 1 : 0; i < end; ++i) {
            index_t& extent = type.extent[static_cast<std::size_t>(i)];
            extent = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)));
        }
    }
    return print(program);
}

/// With kernels of another version other plans may be the fastest.
std::string hash_of(const Program& program) {
    static const std::uint64_t of_kernels = core::text_hash(
        std::vector<std::span<const core::KernelText>>{core::kernel_texts(), kernel_texts()});
    return core::text(core::text_hash(rounded_text(program), of_kernels));
}

std::vector<int> numbers_of(const Json& json) {
    std::vector<int> all;
    core::expects(json.is_array(), "no list of numbers");
    for (const Json& number : json) {
        core::expects(number.is_number_integer(), "no number");
        all.push_back(number.get<int>());
    }
    return all;
}

CallsOfKernels kernels_of(const Json& json) {
    CallsOfKernels all;
    core::expects(json.is_array(), "no list of kernels");
    for (const Json& kernel : json) all.push_back(numbers_of(kernel));
    return all;
}

struct Rate {
    const char* name;
    double Machine::*number;
};
constexpr std::array<Rate, 6> rates_of_machine{
    {{"bytes_a_second", &Machine::bytes_a_second},
     {"flops_a_second", &Machine::flops_a_second},
     {"double_flops_a_second", &Machine::double_flops_a_second},
     {"launch_seconds", &Machine::launch_seconds},
     {"latency_seconds", &Machine::latency_seconds},
     {"barrier_seconds", &Machine::barrier_seconds}}};

/// What `read` makes of the last line of which it makes something. Lines without `words` are not
/// parsed.
template <class Read>
auto last_of(std::string_view lines, const std::string& words, const std::string& device,
             const Read& read) -> std::optional<decltype(read(Json()))> {
    for (std::size_t found = lines.rfind(words); found != std::string_view::npos;) {
        const std::size_t begin = lines.rfind('\n', found) + 1, end = lines.find('\n', found);
        const Json line = Json::parse(lines.substr(begin, end - begin), nullptr, false);
        try {
            if (line.is_object() && line.at("device") == device) return read(line);
        } catch (const Json::exception&) {
            // A member is not there, or of another type.
        } catch (const core::InvalidArgument&) {
        }
        lines = lines.substr(0, begin);
        found = lines.rfind(words);
    }
    return std::nullopt;
}

}  // namespace

std::optional<Remembered> Wisdom::plan(const std::string& device, const Program& program) const {
    const std::string hash = hash_of(program);
    return last_of(contents(), hash, device, [&](const Json& line) {
        core::expects(line.at("text") == hash, "of another program");
        const Json loops = line.value("loop_kernels", Json::array());
        return Remembered{kernels_of(line.at("kernels")),
                          line.at("predicted_seconds").get<double>(),
                          line.at("measured_seconds").get<double>(), numbers_of(loops)};
    });
}

void Wisdom::keep(const std::string& device, const Program& program, const Remembered& plan) const {
    Json line;
    line["device"] = device;
    line["program"] = program.name;
    line["text"] = hash_of(program);
    line["kernels"] = plan.kernels;
    if (!plan.loop_kernels.empty()) line["loop_kernels"] = plan.loop_kernels;
    line["predicted_seconds"] = plan.predicted_seconds;
    line["measured_seconds"] = plan.measured_seconds;
    append(line.dump(-1, ' ', true, Json::error_handler_t::replace));
}

bool Wisdom::rates(const std::string& device, Machine& machine) const {
    const auto found = last_of(contents(), rates_of_machine[0].name, device, [&](const Json& line) {
        Machine with_rates = machine;
        for (const auto& [name, number] : rates_of_machine) {
            const double value = line.at(name).get<double>();
            const bool may_be_zero =
                number == &Machine::latency_seconds || number == &Machine::barrier_seconds;
            core::expects(std::isfinite(value) && (value > 0 || (may_be_zero && value == 0)), name,
                          " is ", value);
            with_rates.*number = value;
        }
        return with_rates;
    });
    if (found) machine = *found;
    return found.has_value();
}

void Wisdom::keep_rates(const std::string& device, const Machine& machine) const {
    Json line;
    line["device"] = device;
    for (const auto& [name, number] : rates_of_machine) line[name] = machine.*number;
    append(line.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string Wisdom::contents() const {
    std::error_code ignored;
    if (!fs::is_regular_file(file_, ignored)) return {};
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void Wisdom::append(std::string line) const {
    if (read_only_ || file_.empty()) return;
    std::error_code ignored;
    fs::create_directory(file_.parent_path(), ignored);
    const int file =
        ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (file < 0) return;
    line += '\n';
    struct stat status {};
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        bool written = status.st_size <= most_bytes || ::ftruncate(file, 0) == 0;
        // At once, so that lines of several processes do not mix. Part of a line is skipped.
        written = written && ::write(file, line.data(), line.size()) > 0;
        static_cast<void>(written);
    }
    ::close(file);
}

fs::path usual_wisdom_file() {
    const char* const variable = std::getenv("APERTURE_WISDOM");
    if (variable != nullptr && *variable != '\0') return variable;
    const auto cache = core::CacheFolder::open();
    return cache ? cache->folder() / "wisdom" / "plans.jsonl" : fs::path();
}

}  // namespace aperture::compose
