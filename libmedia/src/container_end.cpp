// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// AVI: Microsoft's RIFF with the OpenDML extensions; MP4 and QuickTime: ISO/IEC 14496-12, 4.2;
// Matroska: RFC 8794 (EBML), sections 4 and 5, RFC 9559, section 5.1.
#include "libmedia/src/container_end.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <string>

#include "libmedia/src/byte_order.hpp"

namespace aperture::media {
namespace {

using Position = std::uint64_t;

/// Random access to parts of a file.
class Bytes {
  public:
    explicit Bytes(const std::filesystem::path& path) : in_(path, std::ios::binary) {
        std::error_code error;
        const Position size = std::filesystem::file_size(path, error);
        if (!error) size_ = size;
    }
    Position size() const { return size_; }
    /// Empty unless all `count` bytes exist.
    std::string at(Position position, std::size_t count) {
        if (position > size_ || size_ - position < count) return {};
        std::string bytes(count, '\0');
        in_.seekg(static_cast<std::streamoff>(position));
        in_.read(bytes.data(), static_cast<std::streamsize>(count));
        return in_ ? bytes : std::string();
    }

  private:
    std::ifstream in_;
    Position size_ = 0;
};

std::optional<Position> avi_end(Bytes& file) {
    constexpr Position header = 12;
    Position end = 0;
    for (std::string chunk = file.at(0, header); chunk.starts_with("RIFF");
         chunk = file.at(end, header)) {
        const std::string_view kind(chunk.data() + 8, 4);
        if (kind != (end == 0 ? "AVI " : "AVIX")) break;
        const Position size = little_endian(chunk, 4, 4);
        if (size == 0 || size == 0xffffffffU) return std::nullopt;
        // Padded to an even number of bytes.
        end += 8 + size + size % 2;
    }
    if (end == 0) return std::nullopt;
    return end;
}

/// Whether a box header's type is printable.
bool is_box_type(std::string_view type) {
    for (const char c : type) {
        if (c < ' ' || c > '~') return false;
    }
    return true;
}

std::optional<Position> mp4_end(Bytes& file) {
    Position end = 0;
    while (end < file.size()) {
        const std::string box = file.at(end, 8);
        // Truncated within a header.
        if (box.empty()) {
            if (end == 0) return std::nullopt;
            return end + 8;
        }
        const std::string_view type(box.data() + 4, 4);
        if (!is_box_type(type)) break;
        if (end == 0 && type != "ftyp" && type != "moov" && type != "mdat" && type != "wide" &&
            type != "free" && type != "skip") {
            return std::nullopt;
        }
        Position size = big_endian(box, 0, 4);
        if (size == 0) return file.size();
        if (size == 1) {
            const std::string large = file.at(end + 8, 8);
            if (large.empty()) return end + 16;
            size = Position{big_endian(large, 0, 4)} << 32U | big_endian(large, 4, 4);
        }
        if (size < 8 || size > UINT64_MAX - end) break;
        end += size;
    }
    if (end == 0) return std::nullopt;
    return end;
}

/// An element's size and the position of its data.
struct EbmlSize {
    Position size = 0;
    Position data = 0;
};

/// Empty if it is truncated or unknown.
std::optional<EbmlSize> ebml_size(Bytes& file, Position position) {
    const std::string first = file.at(position, 1);
    if (first.empty()) return std::nullopt;
    const auto length =
        static_cast<std::size_t>(std::countl_zero(static_cast<std::uint8_t>(first[0]))) + 1;
    const std::string bytes = file.at(position, length);
    if (length > 8 || bytes.empty()) return std::nullopt;
    const Position most = (Position{1} << 7 * length) - 1;
    Position value = 0;
    for (const char byte : bytes) value = value << 8U | static_cast<std::uint8_t>(byte);
    value &= most;
    if (value == most) return std::nullopt;
    return EbmlSize{value, position + length};
}

std::optional<Position> matroska_end(Bytes& file) {
    constexpr Position identifier = 4;
    if (file.at(0, identifier) != "\x1a\x45\xdf\xa3") return std::nullopt;
    const auto header = ebml_size(file, identifier);
    if (!header) return std::nullopt;
    const Position segment = header->data + header->size;
    if (file.at(segment, identifier) != "\x18\x53\x80\x67") return std::nullopt;
    const auto content = ebml_size(file, segment + identifier);
    if (!content) return std::nullopt;
    return content->data + content->size;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "00dc" (compressed) or "00db" (uncompressed), of any stream.
bool is_video_chunk(std::string_view type) {
    return is_digit(type[0]) && is_digit(type[1]) && type[2] == 'd' &&
           (type[3] == 'c' || type[3] == 'b');
}

/// Valid chunks in a list of frames: streams, their indices, fillers.
bool is_movie_chunk(std::string_view type) {
    return (is_digit(type[0]) && is_digit(type[1])) || type.starts_with("ix") || type == "JUNK" ||
           type == "LIST" || type == "idx1";
}

/// Walks the chunks of an AVI as long as they are consecutive.
class AviWalk {
  public:
    explicit AviWalk(Bytes& file) : file_(file) {}

    AviContent run() {
        Position at = 0;
        for (std::string riff = file_.at(at, list_header); riff.starts_with("RIFF");
             riff = file_.at(at, list_header)) {
            const Position end = at + chunk_header + little_endian(riff, 4, 4);
            walk(at + list_header, end, false);
            at = end + end % 2;
        }
        return {std::max(chunks_, indexed_), damaged_};
    }

  private:
    static constexpr std::size_t chunk_header = 8;
    static constexpr std::size_t list_header = 12;
    static constexpr std::size_t index_entry = 16;

    void walk(Position at, Position end, bool movie) {
        while (at + chunk_header <= end) {
            const std::string header = file_.at(at, list_header);
            if (header.empty()) return;  // truncated
            const std::string_view type(header.data(), 4);
            const Position size = little_endian(header, 4, 4);
            if ((movie && !is_movie_chunk(type)) || size > end - at - chunk_header) {
                damaged_ = true;
                return;
            }
            const std::string_view kind(header.data() + chunk_header, 4);
            if (type == "LIST" && (kind == "movi" || kind == "rec ")) {
                walk(at + list_header, at + chunk_header + size, true);
            } else if (type == "idx1") {
                count_index(at + chunk_header, size / index_entry);
            } else if (movie && size > 0 && is_video_chunk(type)) {
                ++chunks_;
            }
            at += chunk_header + size + size % 2;
        }
    }

    void count_index(Position at, Position entries) {
        for (Position i = 0; i < entries; ++i) {
            const std::string entry = file_.at(at + i * index_entry, index_entry);
            if (entry.empty()) return;
            // An empty frame repeats the previous one.
            if (is_video_chunk(entry) && little_endian(entry, 12, 4) > 0) ++indexed_;
        }
    }

    Bytes& file_;
    std::uint64_t chunks_ = 0;
    std::uint64_t indexed_ = 0;
    bool damaged_ = false;
};

}  // namespace

std::optional<AviContent> avi_content(const std::filesystem::path& path) {
    Bytes file(path);
    const std::string head = file.at(0, 12);
    if (!head.starts_with("RIFF") || !head.ends_with("AVI ")) return std::nullopt;
    return AviWalk(file).run();
}

std::optional<std::uint64_t> container_end(const std::filesystem::path& path) {
    Bytes file(path);
    if (const auto end = avi_end(file)) return end;
    if (const auto end = matroska_end(file)) return end;
    return mp4_end(file);
}

}  // namespace aperture::media
