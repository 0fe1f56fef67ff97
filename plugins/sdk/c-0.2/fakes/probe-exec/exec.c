#include "exec.h"

#include "../bytes.h"

const struct fake_command *fake_commands;

/* Whether the words of a command are these. */
static bool is_it(const plugin_list_string_t *command, const char *words)
{
    witlet_text rest = witlet_view_c(words);
    for (size_t i = 0; i < command->len; i++) {
        witlet_text word = fakes_given(&command->ptr[i]);
        bool is_last = i + 1 == command->len;
        if (!witlet_starts_with(rest, word) || (rest.len > word.len ? is_last || rest.ptr[word.len] != ' ' : !is_last))
            return false;
        size_t taken = word.len + (is_last ? 0 : 1);
        rest = (witlet_text){rest.ptr + taken, rest.len - taken};
    }
    return command->len > 0;
}

bool witlet_probe_exec_run(witlet_probe_exec_borrow_target_t target, plugin_list_string_t *command, witlet_probe_exec_own_ended_t *ret,
                           witlet_probe_exec_own_error_t *err)
{
    (void)target;
    for (const struct fake_command *known = fake_commands; known != NULL && known->command != NULL; known++) {
        if (!is_it(command, known->command))
            continue;
        if (known->error != NULL) {
            *err = fakes_error(known->error, "the command didn't end by itself");
            return false;
        }
        *ret = (witlet_probe_exec_own_ended_t){fakes_make("ended", (witlet_text){NULL, 0}, (witlet_text){NULL, 0})};
        fakes_thing(ret->__handle, "ended")->number = known - fake_commands;
        return true;
    }
    *err = fakes_error("Failed", "the container doesn't know the command");
    return false;
}

static const struct fake_command *ended(witlet_probe_exec_borrow_ended_t self)
{
    return &fake_commands[fakes_thing(self.__handle, "ended")->number];
}

int32_t witlet_probe_exec_method_ended_exit_code(witlet_probe_exec_borrow_ended_t self)
{
    return ended(self)->exit_code;
}

void witlet_probe_exec_method_ended_output(witlet_probe_exec_borrow_ended_t self, plugin_list_u8_t *ret)
{
    *ret = fakes_bytes(witlet_view_c(ended(self)->output != NULL ? ended(self)->output : ""));
}

void witlet_probe_exec_method_ended_error_output(witlet_probe_exec_borrow_ended_t self, plugin_list_u8_t *ret)
{
    *ret = fakes_bytes(witlet_view_c(ended(self)->error_output != NULL ? ended(self)->error_output : ""));
}

void witlet_probe_exec_ended_drop_own(witlet_probe_exec_own_ended_t handle)
{
    fakes_drop(handle.__handle, "ended");
}

witlet_probe_exec_borrow_ended_t witlet_probe_exec_borrow_ended(witlet_probe_exec_own_ended_t handle)
{
    return (witlet_probe_exec_borrow_ended_t){handle.__handle};
}
