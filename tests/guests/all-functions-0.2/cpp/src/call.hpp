// What getters return, as JSON: a key is the function that was called, `pod.name` of the role's types or `node/name` of an interface.
#pragma once

#define WITLET_HAS_ADMISSION
#define WITLET_HAS_PROBE
#define WITLET_HAS_POD_SOURCE
#include "contract.hpp"
#include "tell.hpp"

// A key that nothing has.
inline constexpr std::string_view none = "none";

inline std::string_view word_of(bool truth) { return truth ? "true" : "false"; }

// A value, or null.
inline void tell_option(Tell &tell, std::string_view key, const std::optional<std::string> &value)
{
    value ? tell.text(key, *value) : tell.word(key, "null");
}
template <std::integral Number>
void tell_option(Tell &tell, std::string_view key, std::optional<Number> value)
{
    value ? tell.number(key, *value) : tell.word(key, "null");
}

// What is reported of two keys: one that there is, and one that there isn't.
template <class Value>
void tell_both(Tell &tell, std::string_view key, const Value &there, const Value &not_there)
{
    tell.begin(key, '[');
    tell_option(tell, "", there);
    tell_option(tell, "", not_there);
    tell.end(']');
}

// What the bindings return, reported by its type. The getter is witlet_<role>_types_method_<resource>_<function>.
template <class Handle>
struct Getters {
    Tell &tell;
    Handle it;

    void call(std::string_view key, void (*getter)(Handle, plugin_string_t *)) { tell.text(key, witlet::get(getter, it)); }
    void call(std::string_view key, void (*getter)(Handle, plugin_list_string_t *)) { tell.texts(key, witlet::get_texts(getter, it)); }
    void call(std::string_view key, void (*getter)(Handle, plugin_list_tuple2_string_string_t *))
    {
        tell.pairs(key, witlet::get_pairs(getter, it));
    }
    void call(std::string_view key, bool (*getter)(Handle)) { tell.word(key, word_of(getter(it))); }
    template <std::integral Number>
    void call(std::string_view key, Number (*getter)(Handle))
    {
        tell.number(key, getter(it));
    }
    void call(std::string_view key, bool (*getter)(Handle, plugin_string_t *)) { tell_option(tell, key, witlet::get_option(getter, it)); }
    template <std::integral Number>
    void call(std::string_view key, bool (*getter)(Handle, Number *))
    {
        tell_option(tell, key, witlet::get_number(getter, it));
    }
    void call(std::string_view key, bool (*getter)(Handle, plugin_string_t *, plugin_string_t *), std::string_view of)
    {
        tell_both(tell, key, witlet::get_of(getter, it, of), witlet::get_of(getter, it, none));
    }
    template <std::integral Number>
    void call(std::string_view key, bool (*getter)(Handle, plugin_string_t *, Number *), std::string_view of)
    {
        tell_both(tell, key, witlet::get_number_of(getter, it, of), witlet::get_number_of(getter, it, none));
    }
};
template <class Handle>
Getters(Tell &, Handle) -> Getters<Handle>;

// A list, whose items are reported by a function.
template <class Items, class Item>
void tell_items(Tell &tell, std::string_view key, const Items &items, Item item)
{
    tell.begin(key, '[');
    for (const auto &each : items)
        item(each.borrow());
    tell.end(']');
}

// An error of the plugin's own.
std::unexpected<witlet::Failure> own_error();

// The configuration, or parameters, unless they want to be refused.
witlet::Outcome<std::string> settings_of(std::string_view text);

// What plugins of all roles have; data next to the configuration; an error as the host keeps it.
void tell_host(Tell &tell);
void tell_data(Tell &tell);
void tell_own_error(Tell &tell);
