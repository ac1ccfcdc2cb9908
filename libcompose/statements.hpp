// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/compose/program.hpp"

namespace aperture::compose {

/// Calls `action` with each symbol of the statements, in the order of their text.
template <class Statements, class Action>
void for_each_symbol(Statements& block, const Action& action) {
    const auto each = [&](auto& ids) {
        for (auto& id : ids) action(id);
    };
    for (auto& statement : block) {
        if (auto* const call = std::get_if<Call>(&statement.what)) {
            each(call->results);
            each(call->operands);
        } else if (auto* const loop = std::get_if<Loop>(&statement.what)) {
            action(loop->variable);
            action(loop->count);
            for_each_symbol(loop->body, action);
        } else if (auto* const repeated = std::get_if<While>(&statement.what)) {
            action(repeated->condition);
            for_each_symbol(repeated->body, action);
        } else if (auto* const branch = std::get_if<If>(&statement.what)) {
            action(branch->condition);
            for_each_symbol(branch->body, action);
            for_each_symbol(branch->otherwise, action);
        } else if (auto* const result = std::get_if<Return>(&statement.what)) {
            each(result->values);
        }
    }
}

/// Null unless the statement is a loop.
template <class AnyStatement>
auto body_of(AnyStatement& statement) {
    if (auto* const loop = std::get_if<Loop>(&statement.what)) return &loop->body;
    auto* const repeated = std::get_if<While>(&statement.what);
    return repeated == nullptr ? nullptr : &repeated->body;
}

/// Calls `action` with the symbols that each statement sets.
template <class Action>
void for_each_result(const Block& block, const Action& action) {
    for (const Statement& statement : block) {
        if (const auto* const call = std::get_if<Call>(&statement.what)) {
            std::for_each(call->results.begin(), call->results.end(), action);
        } else if (const auto* const branch = std::get_if<If>(&statement.what)) {
            for_each_result(branch->body, action);
            for_each_result(branch->otherwise, action);
        } else if (const Block* const body = body_of(statement)) {
            const auto* const loop = std::get_if<Loop>(&statement.what);
            if (loop != nullptr) action(loop->variable);
            for_each_result(*body, action);
        }
    }
}

}  // namespace aperture::compose
