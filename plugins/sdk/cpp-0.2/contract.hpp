// Answers, errors and what is lent, for plugins in C++23 on contract 0.2.
//
// An answer is said by calls, and what the host hands out is asked by the bindings' getters, through the functions here:
//
//     class Policy {
//       public:
//         static witlet::Outcome<Policy> from_config(std::string_view config);
//         witlet::Outcome<void> admit(witlet_admission_admission_types_borrow_request_t request, witlet::admission::Answer answer) const
//         {
//             witlet::Owned pod = witlet::owned(witlet_admission_admission_types_method_request_pod(request));
//             if (!witlet::get_of(witlet_admission_admission_types_method_pod_label, pod.borrow(), "team"))
//                 answer.reject("NoTeam", "the label team is missing");
//             else
//                 answer.admit();
//             return {};
//         }
//     };
//
//     WITLET_ADMISSION(Policy, "add", "update")
//
// WITLET_HAS_ADMISSION, WITLET_HAS_PROBE and WITLET_HAS_POD_SOURCE, defined before the include, say which roles the plugin's world has.
#pragma once

#include <chrono>
#include <map>

#include "witlet.hpp"

namespace witlet {

// ---- Errors ----

// Why something couldn't be done: a CamelCase word for programs, and a sentence for people.
struct Failure {
    std::string code;
    std::string message;
    // When another try makes sense, if anything is known of it.
    std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
    // At most 16. What the host's error has is asked for by its key alone, and isn't here.
    std::map<std::string, std::string> details = {};
};

// A value, or why there is none.
template <class Value>
using Outcome = std::expected<Value, Failure>;

// The error of an `Outcome`: return witlet::failure("NotFound", "there is no ", name);
template <class... Parts>
std::unexpected<Failure> failure(std::string_view code, const Parts &...parts)
{
    return std::unexpected(Failure{std::string(code), concat(parts...)});
}

// The error of a configuration, and of a probe's parameters, in words.
inline std::unexpected<Failure> invalid(std::string words)
{
    return std::unexpected(Failure{"InvalidConfiguration", std::move(words)});
}

inline std::unexpected<Failure> invalid_parameters(std::string words)
{
    return std::unexpected(Failure{"InvalidParameters", std::move(words)});
}

namespace detail {

// An error for the host, which is its own from then on.
inline witlet_host_errors_own_error_t give_error(const Failure &why)
{
    std::string kept_code, kept_message;
    plugin_string_t code = lend(why.code, kept_code), message = lend(why.message, kept_message);
    witlet_host_errors_own_error_t own = witlet_host_errors_constructor_error(&code, &message);
    witlet_host_errors_borrow_error_t error = witlet_host_errors_borrow_error(own);
    if (why.retry_after && why.retry_after->count() > 0)
        witlet_host_errors_method_error_set_retry_after_milliseconds(error, static_cast<uint64_t>(why.retry_after->count()));
    for (const auto &[key, value] : why.details) {
        std::string kept_key, kept_value;
        plugin_string_t name = lend(key, kept_key), text = lend(value, kept_value);
        witlet_host_errors_method_error_set_detail(error, &name, &text);
    }
    return own;
}

// An error of the host's, of which nothing is left.
inline Failure take_error(witlet_host_errors_own_error_t own)
{
    witlet_host_errors_borrow_error_t error = witlet_host_errors_borrow_error(own);
    Failure why = {get(witlet_host_errors_method_error_code, error), get(witlet_host_errors_method_error_message, error)};
    uint64_t milliseconds;
    if (witlet_host_errors_method_error_retry_after_milliseconds(error, &milliseconds))
        why.retry_after = std::chrono::milliseconds(milliseconds);
    witlet_host_errors_error_drop_own(own);
    return why;
}

// What an export returns.
template <class Error>
bool done(Outcome<void> outcome, Error *error)
{
    if (!outcome)
        *error = give_error(outcome.error());
    return outcome.has_value();
}

// The plugin of this instance, made once: an instance never sees another configuration, but a unit test does.
template <class Plugin>
Outcome<Plugin *> loaded()
{
    static std::optional<Plugin> kept;
#ifndef __wasm__
    static std::string last;
    if (last != config())
        kept.reset();
    last = config();
#endif
    if (!kept) {
        Outcome<Plugin> made = Plugin::from_config(config());
        if (!made)
            return std::unexpected(std::move(made.error()));
        kept.emplace(std::move(*made));
    }
    return &*kept;
}

} // namespace detail

// ---- What the host hands out ----

// A handle that is dropped. Made by `owned`, as `witlet::Owned pod = witlet::owned(…)`.
template <class Own, auto drop, auto to_borrow>
class Owned {
  public:
    explicit Owned(Own handle) : handle_(handle) {}
    Owned(Owned &&other) noexcept : handle_(std::exchange(other.handle_, Own{0})) {}
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    Owned &operator=(Owned &&) = delete;
    ~Owned()
    {
        if (handle_.__handle != 0)
            drop(handle_);
    }

    // For calls of the bindings, while this lives.
    auto borrow() const { return to_borrow(handle_); }

  private:
    Own handle_;
};

// Has `owned` for a resource, within the namespace witlet: WITLET_OWNED(witlet_admission_admission_types, pod).
#define WITLET_OWNED(interface, name)                                                                                          \
    inline auto owned(interface##_own_##name##_t handle)                                                                       \
    {                                                                                                                          \
        return Owned<interface##_own_##name##_t, interface##_##name##_drop_own, interface##_borrow_##name>(handle);            \
    }

// What a getter for a text, for texts, or for keys and values gives.
template <class Getter, class Handle>
std::string get(Getter getter, Handle handle)
{
    return detail::get(getter, handle);
}

template <class Getter, class Handle>
std::vector<std::string> get_texts(Getter getter, Handle handle)
{
    plugin_list_string_t list;
    getter(handle, &list);
    return detail::take_list(list, [](plugin_string_t text) { return detail::take(text); });
}

template <class Getter, class Handle>
Pairs get_pairs(Getter getter, Handle handle)
{
    plugin_list_tuple2_string_string_t list;
    getter(handle, &list);
    return detail::take_pairs(list);
}

// The text that may be there.
template <class Getter, class Handle>
std::optional<std::string> get_option(Getter getter, Handle handle)
{
    plugin_string_t text;
    return getter(handle, &text) ? std::optional(detail::take(text)) : std::nullopt;
}

// The number that may be there.
template <class Handle, class Number>
std::optional<Number> get_number(bool (*getter)(Handle, Number *), Handle handle)
{
    Number number;
    return getter(handle, &number) ? std::optional(number) : std::nullopt;
}

// What there is for a key, a resource, or a path.
template <class Getter, class Handle>
std::optional<std::string> get_of(Getter getter, Handle handle, std::string_view key)
{
    return detail::get_pointer(getter, handle, key);
}

template <class Handle, class Number>
std::optional<Number> get_number_of(bool (*getter)(Handle, plugin_string_t *, Number *), Handle handle, std::string_view key)
{
    std::string kept;
    plugin_string_t lent = detail::lend(key, kept);
    Number number;
    return getter(handle, &lent, &number) ? std::optional(number) : std::nullopt;
}

namespace detail {

// Calls a function of the host with one or two texts.
template <class Function, class Handle>
void say(Function function, Handle handle, std::string_view text)
{
    std::string kept;
    plugin_string_t lent = lend(text, kept);
    function(handle, &lent);
}

template <class Function, class Handle>
void say(Function function, Handle handle, std::string_view first, std::string_view second)
{
    std::string kept_first, kept_second;
    plugin_string_t lent_first = lend(first, kept_first), lent_second = lend(second, kept_second);
    function(handle, &lent_first, &lent_second);
}

} // namespace detail

// ---- Admission ----
#ifdef WITLET_HAS_ADMISSION
WITLET_OWNED(witlet_admission_admission_types, condition)
WITLET_OWNED(witlet_admission_admission_types, container)
WITLET_OWNED(witlet_admission_admission_types, container_port)
WITLET_OWNED(witlet_admission_admission_types, host_port)
WITLET_OWNED(witlet_admission_admission_types, image)
WITLET_OWNED(witlet_admission_admission_types, mount)
WITLET_OWNED(witlet_admission_admission_types, node)
WITLET_OWNED(witlet_admission_admission_types, owner)
WITLET_OWNED(witlet_admission_admission_types, pod)
WITLET_OWNED(witlet_admission_admission_types, resolved_image)
WITLET_OWNED(witlet_admission_admission_types, taint)
WITLET_OWNED(witlet_admission_admission_types, volume)

namespace admission {

// Takes what becomes of a pod. Admit, reject, defer or shortage is said, once; only a shortage of several resources is said for each.
class Answer {
  public:
    explicit Answer(witlet_admission_admission_types_borrow_answer_t handle) : handle_(handle) {}

    void admit() { witlet_admission_admission_types_method_answer_admit(handle_); }
    void reject(std::string_view reason, std::string_view message)
    {
        detail::say(witlet_admission_admission_types_method_answer_reject, handle_, reason, message);
    }
    void defer(std::string_view reason, std::string_view message, std::chrono::milliseconds retry_after)
    {
        auto call = [&](auto handle, plugin_string_t *word, plugin_string_t *text) {
            witlet_admission_admission_types_method_answer_defer(handle, word, text, static_cast<uint64_t>(retry_after.count()));
        };
        detail::say(call, handle_, reason, message);
    }
    void shortage(std::string_view resource, int64_t requested, int64_t used, int64_t capacity)
    {
        auto call = [&](auto handle, plugin_string_t *name) {
            witlet_admission_admission_types_method_answer_shortage(handle, name, requested, used, capacity);
        };
        detail::say(call, handle_, resource);
    }
    // A sentence for the pod's owner, next to whatever is said.
    void warn(std::string_view message) { detail::say(witlet_admission_admission_types_method_answer_warn, handle_, message); }
    // Something for those who check the decision later.
    void annotate(std::string_view key, std::string_view value)
    {
        detail::say(witlet_admission_admission_types_method_answer_annotate, handle_, key, value);
    }

  private:
    witlet_admission_admission_types_borrow_answer_t handle_;
};

} // namespace admission

// Makes a type the plugin's handler, which is asked about these operations. Stands once, in no namespace.
#define WITLET_ADMISSION(Type, ...)                                                                                            \
    bool exports_witlet_admission_handler_validate(exports_witlet_admission_handler_borrow_setup_t setup,                      \
                                                   plugin_string_t *config,                                                    \
                                                   exports_witlet_admission_handler_own_error_t *error)                        \
    {                                                                                                                          \
        for (const char *operation : {__VA_ARGS__})                                                                            \
            witlet::detail::say(witlet_admission_admission_types_method_setup_subscribe, setup, operation);                              \
        auto made = Type::from_config(witlet::detail::take(*config));                                                          \
        return witlet::detail::done(made ? witlet::Outcome<void>() : std::unexpected(made.error()), error);                    \
    }                                                                                                                          \
    bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,                     \
                                                exports_witlet_admission_handler_borrow_answer_t answer,                       \
                                                exports_witlet_admission_handler_own_error_t *error)                           \
    {                                                                                                                          \
        auto handler = witlet::detail::loaded<Type>();                                                                         \
        return witlet::detail::done(handler ? (*handler)->admit(request, witlet::admission::Answer(answer))                    \
                                            : std::unexpected(handler.error()),                                                \
                                    error);                                                                                    \
    }
#endif

// ---- Probes ----
#ifdef WITLET_HAS_PROBE
WITLET_OWNED(witlet_probe_probe_types, container)
WITLET_OWNED(witlet_probe_probe_types, container_port)
WITLET_OWNED(witlet_probe_probe_types, pod)

namespace probe {

// Takes what a probe found: success, failure or unknown, once.
class Answer {
  public:
    explicit Answer(witlet_probe_probe_types_borrow_answer_t handle) : handle_(handle) {}

    void success(std::string_view message) { detail::say(witlet_probe_probe_types_method_answer_success, handle_, message); }
    void failure(std::string_view message) { detail::say(witlet_probe_probe_types_method_answer_failure, handle_, message); }
    void unknown(std::string_view message) { detail::say(witlet_probe_probe_types_method_answer_unknown, handle_, message); }
    void warn(std::string_view message) { detail::say(witlet_probe_probe_types_method_answer_warn, handle_, message); }
    void latency(std::chrono::nanoseconds time)
    {
        witlet_probe_probe_types_method_answer_latency(handle_, static_cast<uint64_t>(time.count()));
    }
    void annotate(std::string_view key, std::string_view value)
    {
        detail::say(witlet_probe_probe_types_method_answer_annotate, handle_, key, value);
    }

  private:
    witlet_probe_probe_types_borrow_answer_t handle_;
};

} // namespace probe

// Makes a type the plugin's probe type. Stands once, in no namespace.
#define WITLET_PROBE_TYPE(Type)                                                                                                \
    bool exports_witlet_probe_prober_validate(exports_witlet_probe_prober_borrow_setup_t, plugin_string_t *config,             \
                                              exports_witlet_probe_prober_own_error_t *error)                                  \
    {                                                                                                                          \
        auto made = Type::from_config(witlet::detail::take(*config));                                                          \
        return witlet::detail::done(made ? witlet::Outcome<void>() : std::unexpected(made.error()), error);                    \
    }                                                                                                                          \
    bool exports_witlet_probe_prober_check_parameters(exports_witlet_probe_prober_borrow_check_t, plugin_string_t *parameters, \
                                                      exports_witlet_probe_prober_own_error_t *error)                          \
    {                                                                                                                          \
        std::string text = witlet::detail::take(*parameters);                                                                  \
        auto type = witlet::detail::loaded<Type>();                                                                            \
        return witlet::detail::done(type ? (*type)->check(text) : std::unexpected(type.error()), error);                       \
    }                                                                                                                          \
    bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *parameters,    \
                                           exports_witlet_probe_prober_borrow_answer_t answer,                                 \
                                           exports_witlet_probe_prober_own_error_t *error)                                     \
    {                                                                                                                          \
        std::string text = witlet::detail::take(*parameters);                                                                  \
        auto type = witlet::detail::loaded<Type>();                                                                            \
        return witlet::detail::done(type ? (*type)->probe(target, text, witlet::probe::Answer(answer))                         \
                                         : std::unexpected(type.error()),                                                      \
                                    error);                                                                                    \
    }
#endif

// ---- Pod sources ----
#ifdef WITLET_HAS_POD_SOURCE
WITLET_OWNED(witlet_pod_source_source_types, change)

namespace pod_source {

// Takes what a source has now: pods, empty or unchanged.
class Answer {
  public:
    explicit Answer(witlet_pod_source_source_types_borrow_answer_t handle) : handle_(handle) {}

    void pod(std::string_view manifest) { detail::say(witlet_pod_source_source_types_method_answer_pod, handle_, manifest); }
    void empty() { witlet_pod_source_source_types_method_answer_empty(handle_); }
    void unchanged() { witlet_pod_source_source_types_method_answer_unchanged(handle_); }
    void cursor(std::string_view cursor) { detail::say(witlet_pod_source_source_types_method_answer_cursor, handle_, cursor); }
    void next_poll(std::chrono::milliseconds time)
    {
        witlet_pod_source_source_types_method_answer_next_poll_milliseconds(handle_, static_cast<uint64_t>(time.count()));
    }

  private:
    witlet_pod_source_source_types_borrow_answer_t handle_;
};

} // namespace pod_source

// Makes a type the plugin's pod source. Stands once, in no namespace.
#define WITLET_POD_SOURCE(Type)                                                                                                \
    bool exports_witlet_pod_source_source_validate(exports_witlet_pod_source_source_borrow_setup_t, plugin_string_t *config,   \
                                                   exports_witlet_pod_source_source_own_error_t *error)                        \
    {                                                                                                                          \
        auto made = Type::from_config(witlet::detail::take(*config));                                                          \
        return witlet::detail::done(made ? witlet::Outcome<void>() : std::unexpected(made.error()), error);                    \
    }                                                                                                                          \
    bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor,                                                  \
                                               exports_witlet_pod_source_source_borrow_answer_t answer,                        \
                                               exports_witlet_pod_source_source_own_error_t *error)                            \
    {                                                                                                                          \
        std::optional<std::string> cursor;                                                                                     \
        if (maybe_cursor != nullptr)                                                                                           \
            cursor = witlet::detail::take(*maybe_cursor);                                                                      \
        auto source = witlet::detail::loaded<Type>();                                                                          \
        return witlet::detail::done(source ? (*source)->poll(cursor, witlet::pod_source::Answer(answer))                       \
                                           : std::unexpected(source.error()),                                                  \
                                    error);                                                                                    \
    }
#endif

// A list of handles that the host hands out, each made what drops it by `owned`.
template <class List, class Handle>
auto get_list(void (*getter)(Handle, List *), Handle handle)
{
    List list;
    getter(handle, &list);
    return detail::take_list(list, [](auto item) { return owned(item); });
}

} // namespace witlet
