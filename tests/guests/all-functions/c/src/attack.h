/* What a plugin may do to its host: the attack that the configuration names (`answer: {attack: NAME}`). */
#ifndef ATTACK_H
#define ATTACK_H

#include "json.h"
#include "witlet.h"

/* Attacks; few attacks return. False with an owned `error` if the name is none. */
bool attack(witlet_text name, witlet_admission_types_verdict_t *verdict, plugin_string_t *error);

#endif
