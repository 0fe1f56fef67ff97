// What a plugin may do to its host: the attack that the configuration names (`answer: {attack: NAME}`).
#pragma once

#include <string_view>

#include "admission.hpp"

// Attacks; few attacks return.
witlet::Result<witlet::admission::Verdict> attack(std::string_view name);
