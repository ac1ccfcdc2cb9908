// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/program.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <new>

namespace aperture::apps {
namespace {

std::string one_line(std::string text) {
    // Names from a damaged file may contain control characters.
    const auto control = [](unsigned char c) { return std::iscntrl(c) != 0; };
    std::replace_if(text.begin(), text.end(), control, ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

int report_error(const std::string& program, const std::string& text, int status) {
    std::cerr << program << ": error: " << one_line(text) << '\n';
    return status;
}

}  // namespace

int run_program(const std::string& program, const std::function<int()>& body) {
    try {
        const int status = body();
        std::cout.flush();
        core::expects(std::cout.good(), "cannot write to standard output");
        return status;
    } catch (const core::InvalidArgument& error) {
        return report_error(program, error.what(), exit_input);
    } catch (const std::bad_alloc&) {
        return report_error(program, "out of memory", exit_internal);
    } catch (const std::exception& error) {
        return report_error(program, error.what(), exit_internal);
    }
}

std::string command_line(int argc, char** argv) {
    std::string line;
    for (int i = 0; i < argc; ++i) {
        if (i > 0) line += ' ';
        line += argv[i];
    }
    return line;
}

bool use_gpu(DeviceChoice choice, Console& console) {
    if (choice == DeviceChoice::cpu) return false;
    const core::GpuStatus status = core::gpu_status();
    if (choice == DeviceChoice::gpu) {
        if (!status.usable) {
            throw core::DeviceError(core::text("--device gpu: no usable GPU: ", status.reason));
        }
        return true;
    }
    console.note(status.usable ? "device: GPU"
                               : "device: CPU (no usable GPU: " + status.reason + ")");
    return status.usable;
}

}  // namespace aperture::apps
