// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/program.hpp"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <iostream>
#include <new>

#include "apps/common/argument_fields.hpp"

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

Invocation invocation(const std::string& program, int argc, char** argv) {
    Invocation result{program, "", ""};
    for (int i = 0; i < argc; ++i) {
        if (i > 0) result.command_line += ' ';
        result.command_line += argv[i];
    }
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[sizeof "2026-11-25T14:31:20Z"];
    result.started.assign(text, std::strftime(text, sizeof text, "%FT%TZ", &utc));
    return result;
}

DeviceChoice parse_device(const std::string& text) {
    constexpr int max_gpu = 1023;
    constexpr std::string_view numbered = "gpu:";
    if (text == "auto") return {};
    if (text == "cpu") return {DeviceKind::cpu};
    if (text == "gpu") return {DeviceKind::gpu};
    core::expects(text.starts_with(numbered), "--device ", text,
                  ": expected auto|cpu|gpu|gpu:NUMBER");
    const auto number =
        parse_whole_number("--device gpu:", text.substr(numbered.size()), 0, max_gpu);
    return {DeviceKind::gpu, static_cast<int>(number)};
}

bool use_gpu(const DeviceChoice& choice, Console& console) {
    if (choice.kind == DeviceKind::cpu) return false;
    const core::GpuStatus status = core::gpu_status(choice.gpu);
    if (choice.kind == DeviceKind::gpu && !status.usable) {
        const std::string number = choice.gpu > 0 ? core::text(':', choice.gpu) : "";
        throw core::DeviceError(
            core::text("--device gpu", number, ": no usable GPU: ", status.reason));
    }
    console.detail(status.usable ? core::text("device: GPU ", choice.gpu)
                                 : "device: CPU (no usable GPU: " + status.reason + ")");
    return status.usable;
}

}  // namespace aperture::apps
