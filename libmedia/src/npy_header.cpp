// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/npy_header.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>

#include "aperture/core/error.hpp"
#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/input_file.hpp"

namespace aperture::media {
namespace {

using core::index_t;

constexpr std::string_view magic = "\x93NUMPY";
// Of the magic, the version, and the length in versions 1 and later.
constexpr std::size_t version_end = magic.size() + 2;
constexpr std::size_t short_length = 2;
constexpr std::size_t long_length = 4;
// The longest of version 1. Arrays of numbers need far less.
constexpr std::size_t longest_header = 65535;
constexpr index_t largest_number = index_t{1} << 62;

std::string meaning_of(char kind) {
    switch (kind) {
        case 'O':
            return " (Python objects)";
        case 'S':
        case 'a':
        case 'U':
            return " (strings)";
        case 'b':
        case '?':
            return " (booleans)";
        case 'M':
        case 'm':
            return " (times)";
        case 'V':
            return " (raw bytes)";
        default:
            return "";
    }
}

bool is_size_of(char kind, std::size_t bytes) {
    const bool power = bytes > 0 && (bytes & (bytes - 1)) == 0;
    if (kind == 'f') return power && bytes >= 2 && bytes <= 8;
    if (kind == 'c') return power && bytes >= 8 && bytes <= 16;
    if (kind == 'i' || kind == 'u') return power && bytes <= 8;
    return false;
}

/// A literal of Python with the three keys of the format: read here, never evaluated.
class HeaderParser {
  public:
    HeaderParser(std::string_view text, std::string label)
        : text_(text), label_(std::move(label)) {}

    NpyHeader header() {
        NpyHeader header;
        std::set<std::string> keys;
        expect('{');
        list('}', [&] {
            const std::string key = word();
            if (!keys.insert(key).second) reject(core::text("has '", key, "' twice"));
            expect(':');
            value(key, header);
        });
        if (peek() != end) damaged("the end");
        for (const char* key : {"descr", "fortran_order", "shape"}) {
            if (keys.count(key) == 0) reject(core::text("lacks '", key, "'"));
        }
        return header;
    }

  private:
    static constexpr char end = '\0';

    [[noreturn]] void reject(const std::string& what) const {
        throw core::InvalidArgument(core::text(label_, ": its NumPy header ", what));
    }
    [[noreturn]] void damaged(const std::string& expected) const {
        reject(core::text("is damaged: expected ", expected, " at character ", at_));
    }

    char peek() {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        return at_ < text_.size() ? text_[at_] : end;
    }
    bool accept(char wanted) {
        const bool found = peek() == wanted && at_ < text_.size();
        at_ += found ? 1 : 0;
        return found;
    }
    void expect(char wanted) {
        if (!accept(wanted)) damaged(core::text("'", wanted, "'"));
    }

    /// Items with commas between, and perhaps after the last, up to `close`.
    template <class Item>
    void list(char close, const Item& item) {
        while (!accept(close)) {
            item();
            if (accept(',')) continue;
            expect(close);
            return;
        }
    }

    std::string word() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') damaged("a string");
        const std::size_t first = ++at_;
        while (at_ < text_.size() && text_[at_] != quote) {
            const auto code = static_cast<unsigned char>(text_[at_]);
            if (code < ' ' || code == 0x7f || code == '\\') damaged("a string without escapes");
            ++at_;
        }
        if (at_ == text_.size()) damaged("the end of a string");
        return std::string(text_.substr(first, at_++ - first));
    }

    index_t number() {
        const auto is_digit = [&] {
            return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
        };
        peek();
        if (!is_digit()) damaged("an extent");
        index_t value = 0;
        for (; is_digit(); ++at_) {
            if (value >= largest_number / 10) reject("has an extent that is too large");
            value = 10 * value + (text_[at_] - '0');
        }
        accept('L');  // as Python 2 wrote
        return value;
    }

    bool boolean() {
        peek();
        for (const std::string_view name : {"True", "False"}) {
            if (text_.substr(at_, name.size()) != name) continue;
            at_ += name.size();
            return name == "True";
        }
        damaged("True or False");
    }

    void value(const std::string& key, NpyHeader& header) {
        if (key == "descr") {
            type(header);
        } else if (key == "fortran_order") {
            header.fortran_order = boolean();
        } else if (key == "shape") {
            expect('(');
            list(')', [&] { header.shape.push_back(number()); });
        } else {
            reject(core::text("has the unknown key '", key, "'"));
        }
    }

    void type(NpyHeader& header) {
        header.is_record = accept('[');
        if (header.is_record) {
            list(']', [&] { member(header); });
            core::expects(!header.members.empty(), label_, ": has records without numbers");
        } else {
            add(header, "", word());
        }
    }

    void member(NpyHeader& header) {
        expect('(');
        const std::string name = word();
        expect(',');
        const bool single = peek() != '[';
        if (single) add(header, name, word());
        if (!single || !accept(')')) {
            throw core::InvalidArgument(
                core::text(label_, ": member '", name, "' of its records is not a single number"));
        }
    }

    /// A number, or bytes without a name, which fill a record up.
    void add(NpyHeader& header, const std::string& name, const std::string& type) {
        const char kind = type.size() > 1 ? type[1] : end;
        std::size_t bytes = 0;
        const std::string digits = type.size() > 2 ? type.substr(2) : "";
        if (digits.size() <= 6 && digits.find_first_not_of("0123456789") == std::string::npos) {
            for (const char digit : digits)
                bytes = 10 * bytes + static_cast<std::size_t>(digit - '0');
        }
        if (header.is_record && name.empty() && kind == 'V' && bytes > 0) {
            header.element_bytes += bytes;
            return;
        }
        const bool has_order = type[0] == '<' || type[0] == '>' || (type[0] == '|' && bytes == 1);
        if (!has_order || !is_size_of(kind, bytes)) {
            throw core::InvalidArgument(core::text(label_, ": has elements of NumPy's type '", type,
                                                   "'", meaning_of(kind),
                                                   "; expected real or complex numbers"));
        }
        header.members.push_back({name, header.element_bytes, {kind, bytes, type[0] == '>'}});
        header.element_bytes += bytes;
    }

    std::string_view text_;
    std::string label_;
    std::size_t at_ = 0;
};

/// The next bytes of a file. Throws if there are fewer.
std::string next_bytes(std::ifstream& file, std::size_t count, const std::string& label) {
    std::string bytes(count, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    core::expects(static_cast<std::size_t>(file.gcount()) == count, label, ": file is truncated");
    return bytes;
}

/// The bytes that an array needs.
index_t bytes_of(const NpyHeader& header, const std::string& label) {
    auto bytes = static_cast<index_t>(header.element_bytes);
    bool fits = true;
    for (const index_t extent : header.shape) {
        // Without zeros: the product of the others must fit, too, whatever their order.
        fits = fits && !__builtin_mul_overflow(bytes, std::max<index_t>(extent, 1), &bytes);
    }
    core::expects(fits, label, ": its array is too large: the extents are ",
                  extents_text(header.shape));
    const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
    return empty ? 0 : bytes;
}

}  // namespace

bool is_npy(const std::filesystem::path& path) {
    expects_readable(path);
    std::array<char, magic.size()> first{};
    std::ifstream file(path, std::ios::binary);
    file.read(first.data(), first.size());
    return file && std::string_view(first.data(), first.size()) == magic;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
    const std::string label = path.string();
    std::ifstream file(path, std::ios::binary);
    const std::string start = next_bytes(file, version_end, label);
    const int major = static_cast<unsigned char>(start[magic.size()]);
    const int minor = static_cast<unsigned char>(start[magic.size() + 1]);
    core::expects(major >= 1 && major <= 3 && minor == 0, label, ": NumPy's format ", major, '.',
                  minor, " is unknown, expected 1.0, 2.0 or 3.0");
    const std::size_t length_bytes = major == 1 ? short_length : long_length;
    const std::string length = next_bytes(file, length_bytes, label);
    const std::size_t words = little_endian(length, 0, length_bytes);
    core::expects(words <= longest_header, label, ": its NumPy header has ", words,
                  " bytes, expected at most ", longest_header);
    const std::string text = next_bytes(file, words, label);
    NpyHeader header = HeaderParser(text, label).header();
    header.data_at = version_end + length_bytes + words;
    header.data_bytes = bytes_of(header, label);

    std::error_code error;
    const auto size = static_cast<index_t>(std::filesystem::file_size(path, error));
    core::expects(!error, label, ": ", system_text(error.value()));
    const index_t present = size - static_cast<index_t>(header.data_at);
    core::expects(present >= header.data_bytes, label, ": file is truncated: its array needs ",
                  header.data_bytes, " bytes, but ", present, " follow the header");
    core::expects(present == header.data_bytes, label, ": holds ", present - header.data_bytes,
                  " bytes more than its array");
    return header;
}

}  // namespace aperture::media
