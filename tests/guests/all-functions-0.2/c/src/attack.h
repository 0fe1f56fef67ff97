/* What a plugin may do to its host: the attack that the configuration names (`{do: attack, attack: NAME}`). */
#ifndef ATTACK_H
#define ATTACK_H

#include "call.h"

/* Attacks; few attacks return. */
void attack(witlet_text name, exports_witlet_admission_handler_borrow_answer_t answer);

#endif
