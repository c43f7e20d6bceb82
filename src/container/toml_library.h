// SPDX-License-Identifier: Apache-2.0
#pragma once

// toml++ 3.3 takes for impossible what a broken text brings about: a letter outside ASCII where a
// blank may stand, a key that begins with '='. What follows those places reports the mistake; these
// macros let it get there, in every build alike.
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/impl/preprocessor.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#include <toml++/toml.h>
