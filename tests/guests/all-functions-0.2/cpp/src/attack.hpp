// What a plugin may do to its host: the attack that the configuration names (`{do: attack, attack: NAME}`).
#pragma once

#include "call.hpp"

// Attacks; few attacks return.
void attack(std::string_view name, witlet::admission::Answer answer);
