// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "aperture/core/error.hpp"
#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/stored_image.hpp"

namespace aperture::media {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The white-space separated numbers of a PNM file.
class Numbers {
  public:
    Numbers(const std::string& name, std::string_view bytes, std::size_t first)
        : name_(name), bytes_(bytes), at_(first) {}

    std::int64_t next() {
        skip_space();
        core::expects(at_ < bytes_.size(), name_, ": truncated PNM");
        core::expects(is_digit(bytes_[at_]), name_, ": damaged PNM: no number at byte ", at_);
        std::int64_t value = 0;
        for (; at_ < bytes_.size() && is_digit(bytes_[at_]); ++at_) {
            value = 10 * value + (bytes_[at_] - '0');
            core::expects(value <= std::numeric_limits<std::int32_t>::max(), name_,
                          ": damaged PNM: number too large at byte ", at_);
        }
        return value;
    }
    /// Where the last number ended.
    std::size_t position() const { return at_; }

  private:
    void skip_space() {
        while (at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#')) {
            if (bytes_[at_] == '#') {
                while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
            } else {
                ++at_;
            }
        }
    }

    const std::string& name_;
    std::string_view bytes_;
    std::size_t at_;
};

}  // namespace

bool is_pnm(std::string_view bytes) {
    return bytes.size() >= 2 && bytes[0] == 'P' &&
           std::string_view("2356").find(bytes[1]) != std::string_view::npos &&
           (bytes.size() == 2 || is_space(bytes[2]) || bytes[2] == '#');
}

void decode_pnm(const std::string& name, std::string_view bytes, StoredImage& image) {
    const char kind = bytes[1];
    const bool plain = kind == '2' || kind == '3';
    Numbers numbers(name, bytes, 2);
    const std::int64_t width = numbers.next();
    const std::int64_t height = numbers.next();
    const std::int64_t largest = numbers.next();
    core::expects(width > 0 && height > 0, name, ": image of ", width, 'x', height, " pixels");
    core::expects(largest > 0 && largest <= 65535, name, ": PNM maximum is ", largest,
                  ", expected 1 to 65535");

    image.width = static_cast<int>(width);
    image.height = static_cast<int>(height);
    image.channels = kind == '3' || kind == '6' ? 3 : 1;
    image.largest = static_cast<std::uint32_t>(largest);
    // A plain sample needs at least a separator and a digit; one separator ends a binary header.
    const std::size_t width_of_sample = plain || largest > 255 ? 2 : 1;
    const std::size_t first = numbers.position() + (plain ? 0 : 1);
    core::expects(first > bytes.size() || plain || is_space(bytes[first - 1]), name,
                  ": damaged PNM: no space after the maximum");
    const auto room =
        static_cast<std::int64_t>((bytes.size() - std::min(first, bytes.size())) / width_of_sample);
    core::expects(width * height <= room / image.channels, name, ": truncated PNM: ", width, 'x',
                  height, " pixels do not fit into ", bytes.size(), " bytes");

    const auto count = static_cast<std::size_t>(width * height * image.channels);
    if (!plain && largest == 255) {
        const std::string_view samples = bytes.substr(first, count);
        samples_of<std::uint8_t>(image).assign(samples.begin(), samples.end());
        return;
    }
    std::size_t at = first;
    const auto next = [&] {
        const std::int64_t value =
            plain ? numbers.next() : std::int64_t{big_endian(bytes, at, width_of_sample)};
        at += width_of_sample;
        core::expects(value <= largest, name, ": damaged PNM: sample ", value,
                      " exceeds the maximum of ", largest);
        return value;
    };
    const auto store = [&]<class Sample>(std::vector<Sample>& samples) {
        samples.resize(count);
        std::generate(samples.begin(), samples.end(), [&] { return static_cast<Sample>(next()); });
    };
    if (largest > 255) {
        store(samples_of<std::uint16_t>(image));
    } else {
        store(samples_of<std::uint8_t>(image));
    }
}

}  // namespace aperture::media
