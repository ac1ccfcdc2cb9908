// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls of operator new since the program started. Linking counted_new.cpp replaces the operator;
/// it is a file of its own so that no caller sees through it.
long calls_of_new();
/// Their bytes, including what has been deleted since.
long bytes_of_new();
