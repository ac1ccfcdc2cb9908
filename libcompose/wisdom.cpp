// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/wisdom.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "aperture/core/error.hpp"
#include "libcore/cache_folder.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Of a file; beyond that its older half is dropped.
constexpr off_t most_bytes = 4 << 20;

/// A regular file, open and locked as long as this exists.
class LockedFile {
  public:
    LockedFile(const fs::path& path, int flags, int lock)
        : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR)) {
        struct stat status {};
        if (descriptor_ < 0) return;
        // Where the file system has no locks, lines that mix are skipped.
        while (::flock(descriptor_, lock) != 0 && errno == EINTR) {
        }
        if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
        usable_ = true;
        bytes_ = status.st_size;
    }
    LockedFile(const LockedFile&) = delete;
    LockedFile& operator=(const LockedFile&) = delete;
    ~LockedFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    explicit operator bool() const { return usable_; }
    off_t bytes() const { return bytes_; }

    std::string read(off_t from) const {
        std::string all(static_cast<std::size_t>(bytes_ - from), '\0');
        std::size_t done = 0;
        while (done < all.size()) {
            const ssize_t count = ::pread(descriptor_, all.data() + done, all.size() - done,
                                          from + static_cast<off_t>(done));
            if (count <= 0) break;
            done += static_cast<std::size_t>(count);
        }
        all.resize(done);
        return all;
    }
    /// The file then ends with `text`, or, if the disk has no room for it, at `from`.
    void write(off_t from, std::string_view text) const {
        if (::ftruncate(descriptor_, from) != 0) return;
        for (off_t at = from; !text.empty();) {
            const ssize_t count = ::pwrite(descriptor_, text.data(), text.size(), at);
            if (count <= 0) {
                static_cast<void>(::ftruncate(descriptor_, from) == 0);
                return;
            }
            text.remove_prefix(static_cast<std::size_t>(count));
            at += count;
        }
    }

  private:
    int descriptor_;
    bool usable_ = false;
    off_t bytes_ = 0;
};

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

std::string hash_of(const Program& program) {
    constexpr std::string_view digits = "0123456789abcdef";
    const std::uint64_t hash = core::text_hash(rounded_text(program));
    std::string all;
    for (int shift = 60; shift >= 0; shift -= 4) all += digits[(hash >> shift) & 15];
    return all;
}

CallsOfKernels kernels_of(const Json& json) {
    CallsOfKernels all;
    core::expects(json.is_array(), "no list of kernels");
    for (const Json& kernel : json) {
        std::vector<int>& calls = all.emplace_back();
        core::expects(kernel.is_array(), "no list of calls");
        for (const Json& call : kernel) {
            core::expects(call.is_number_integer(), "a call is no number");
            calls.push_back(call.get<int>());
        }
    }
    return all;
}

struct Rate {
    const char* name;
    double Machine::*number;
};
constexpr std::array<Rate, 5> rates_of_machine{
    {{"bytes_a_second", &Machine::bytes_a_second},
     {"flops_a_second", &Machine::flops_a_second},
     {"double_flops_a_second", &Machine::double_flops_a_second},
     {"launch_seconds", &Machine::launch_seconds},
     {"latency_seconds", &Machine::latency_seconds}}};

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
        return Remembered{kernels_of(line.at("kernels")),
                          line.at("predicted_seconds").get<double>(),
                          line.at("measured_seconds").get<double>()};
    });
}

void Wisdom::keep(const std::string& device, const Program& program, const Remembered& plan) const {
    Json line;
    line["device"] = device;
    line["program"] = program.name;
    line["text"] = hash_of(program);
    line["kernels"] = plan.kernels;
    line["predicted_seconds"] = plan.predicted_seconds;
    line["measured_seconds"] = plan.measured_seconds;
    append(line.dump(-1, ' ', true, Json::error_handler_t::replace));
}

bool Wisdom::rates(const std::string& device, Machine& machine) const {
    const auto found = last_of(contents(), rates_of_machine[0].name, device, [&](const Json& line) {
        Machine with_rates = machine;
        for (const auto& [name, number] : rates_of_machine) {
            const double value = line.at(name).get<double>();
            const bool may_be_zero = number == &Machine::latency_seconds;
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
    if (file_.empty()) return {};
    const LockedFile file(file_, O_RDONLY, LOCK_SH);
    if (!file) return {};
    return file.read(std::max<off_t>(file.bytes() - 2 * most_bytes, 0));
}

void Wisdom::append(std::string line) const {
    if (read_only_ || file_.empty()) return;
    std::error_code ignored;
    fs::create_directory(file_.parent_path(), ignored);
    const LockedFile file(file_, O_RDWR | O_CREAT, LOCK_EX);
    if (!file) return;
    line += '\n';
    if (file.bytes() > most_bytes) {
        std::string newer = file.read(file.bytes() / 2);
        newer.erase(0, newer.find('\n') + 1);
        file.write(0, newer + line);
        return;
    }
    // A line of which a part is missing must not be the begin of this one.
    const bool ends = file.bytes() == 0 || file.read(file.bytes() - 1) == "\n";
    file.write(file.bytes(), ends ? line : "\n" + line);
}

fs::path usual_wisdom_file() {
    const char* const variable = std::getenv("APERTURE_WISDOM");
    if (variable != nullptr && *variable != '\0') return variable;
    const auto cache = core::CacheFolder::open();
    return cache ? cache->folder() / "wisdom" / "plans.jsonl" : fs::path();
}

}  // namespace aperture::compose
