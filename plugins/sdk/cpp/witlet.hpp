// Plugins for witlet in C++23, on top of the bindings that wit-bindgen makes for C. This header is what all roles have in common; a
// role's own header includes it: admission.hpp, probe.hpp, pod_source.hpp.
//
// There are no exceptions and no RTTI: what can fail returns a `Result`. What can't go on (memory that is used up, `std::abort`, an index
// out of bounds with `.at()`) ends the call with a trap, and the host has a policy for that.
//
// Texts from the host are copied into `std::string`, and handles are dropped by destructors: nothing has to be freed by hand.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin.h"

namespace witlet {

// A value, or why there is none, in words.
template <class Value>
using Result = std::expected<Value, std::string>;

// Names with values, in the host's order: labels, annotations, facts.
using Pairs = std::vector<std::pair<std::string, std::string>>;

// The value of a name, if it is there. A view, as long as the pairs.
inline std::optional<std::string_view> find(const Pairs &pairs, std::string_view name)
{
    for (const auto &[key, value] : pairs) {
        if (key == name)
            return value;
    }
    return std::nullopt;
}
std::optional<std::string_view> find(Pairs &&pairs, std::string_view name) = delete;

// ---- Texts ----

namespace detail {

inline void append(std::string &text, std::string_view part)
{
    text += part;
}

template <std::integral Number>
    requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
void append(std::string &text, Number number)
{
    std::array<char, 24> digits;
    auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text.append(digits.data(), end);
}

// How many bytes the UTF-8 character at the beginning has; 0 if there is none, or no valid one.
inline size_t utf8_length(std::string_view text)
{
    auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
    if (text.empty())
        return 0;
    if (byte(0) < 0x80)
        return 1;
    size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length)
        return 0;
    for (size_t index = 1; index < length; index++) {
        if ((byte(index) & 0xc0) != 0x80)
            return 0;
    }
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    bool is_none = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
                   (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f);
    return is_none ? 0 : length;
}

} // namespace detail

// Texts and whole numbers, one after the other: concat("port ", 80).
template <class... Parts>
std::string concat(const Parts &...parts)
{
    std::string text;
    (detail::append(text, parts), ...);
    return text;
}

// The error of a `Result`, in words: return witlet::fail("port ", port, " is taken");
template <class... Parts>
std::unexpected<std::string> fail(const Parts &...parts)
{
    return std::unexpected(concat(parts...));
}

// Whether bytes are UTF-8 throughout.
inline bool is_utf8(std::string_view bytes)
{
    while (!bytes.empty()) {
        size_t length = detail::utf8_length(bytes);
        if (length == 0)
            return false;
        bytes.remove_prefix(length);
    }
    return true;
}

// Bytes from outside as UTF-8, with U+FFFD for each byte that is no part of a character.
inline std::string lossy(std::string_view bytes)
{
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        size_t length = detail::utf8_length(bytes);
        text += length > 0 ? bytes.substr(0, length) : std::string_view("\xef\xbf\xbd");
        bytes.remove_prefix(length > 0 ? length : 1);
    }
    return text;
}

// ---- What crosses the border to the host ----

namespace detail {

template <class Item>
Item *allocate(size_t count)
{
    // The bindings free nothing of what is empty.
    if (count == 0)
        return nullptr;
    auto *items = static_cast<Item *>(std::malloc(count * sizeof(Item)));
    if (items == nullptr)
        std::abort();
    return items;
}

// Bytes for the host, which are the bindings' from then on: they free them.
template <class List = plugin_string_t>
List give_bytes(std::string_view bytes)
{
    List list = {allocate<uint8_t>(bytes.size()), bytes.size()};
    if (!bytes.empty())
        std::memcpy(list.ptr, bytes.data(), bytes.size());
    return list;
}

// A text for the host. One that isn't UTF-8 would be a trap, and so it becomes one.
inline plugin_string_t give(std::string_view text)
{
    return is_utf8(text) ? give_bytes(text) : give_bytes(lossy(text));
}

// A text or bytes of the host's, which are freed.
template <class List>
std::string take(List list)
{
    std::string text(reinterpret_cast<const char *>(list.ptr), list.len);
    if (list.len > 0)
        std::free(list.ptr);
    return text;
}

inline std::string_view view(plugin_string_t text)
{
    return {reinterpret_cast<const char *>(text.ptr), text.len};
}

// A text for an argument of an import, which only checks it. `kept` is what it checks if the text isn't UTF-8.
inline plugin_string_t lend(std::string_view text, std::string &kept)
{
    if (!is_utf8(text))
        text = kept = lossy(text);
    return {reinterpret_cast<uint8_t *>(const_cast<char *>(text.data())), text.size()};
}

// A list of the host's, item by item, which is freed.
template <class List, class Take>
auto take_list(List list, Take take_item)
{
    std::vector<decltype(take_item(list.ptr[0]))> items;
    items.reserve(list.len);
    for (size_t index = 0; index < list.len; index++)
        items.push_back(take_item(list.ptr[index]));
    if (list.len > 0)
        std::free(list.ptr);
    return items;
}

// A list for the host, item by item.
template <class List, class Items, class Give>
List give_list(const Items &items, Give give_item)
{
    List list;
    list.len = items.size();
    list.ptr = allocate<std::remove_pointer_t<decltype(list.ptr)>>(items.size());
    for (size_t index = 0; index < items.size(); index++)
        list.ptr[index] = give_item(items[index]);
    return list;
}

inline Pairs take_pairs(plugin_list_tuple2_string_string_t list)
{
    return take_list(list, [](plugin_tuple2_string_string_t pair) { return std::pair(take(pair.f0), take(pair.f1)); });
}

// What the host's getter for a text gives: getter(arguments…, &text).
template <class Getter, class... Arguments>
std::string get(Getter getter, Arguments... arguments)
{
    plugin_string_t text;
    getter(arguments..., &text);
    return take(text);
}

// The same of a getter that may give none.
template <class Getter, class Handle>
std::optional<std::string> get_pointer(Getter getter, Handle handle, std::string_view path)
{
    std::string kept;
    plugin_string_t lent = lend(path, kept), text;
    return getter(handle, &lent, &text) ? std::optional(take(text)) : std::nullopt;
}

// What an export returns that may fail with words. The argument is the bindings', and is freed.
template <class Read>
bool check(plugin_string_t *argument, plugin_string_t *error, Read read)
{
    auto result = read(take(*argument));
    if (!result)
        *error = give(result.error());
    return result.has_value();
}

} // namespace detail

// ---- The host ----

// How much a line of the log matters.
enum class Level : uint8_t {
    trace = WITLET_HOST_LOG_LEVEL_TRACE,
    debug = WITLET_HOST_LOG_LEVEL_DEBUG,
    info = WITLET_HOST_LOG_LEVEL_INFO,
    warn = WITLET_HOST_LOG_LEVEL_WARN,
    error = WITLET_HOST_LOG_LEVEL_ERROR,
};

// Writes a line to the node's log, with names and values: witlet::log(witlet::Level::info, "welcome", {{"team", team}});
inline void log(Level level, std::string_view message,
                std::initializer_list<std::pair<std::string_view, std::string_view>> fields = {})
{
    // Given and freed here, for texts that aren't UTF-8.
    std::string kept;
    std::vector<plugin_tuple2_string_string_t> pairs;
    pairs.reserve(fields.size());
    for (const auto &[name, value] : fields)
        pairs.push_back({detail::give(name), detail::give(value)});
    plugin_string_t line = detail::lend(message, kept);
    plugin_list_tuple2_string_string_t list = {pairs.data(), pairs.size()};
    witlet_host_log_write(static_cast<uint8_t>(level), &line, &list);
    for (auto &pair : pairs) {
        std::free(pair.f0.ptr);
        std::free(pair.f1.ptr);
    }
}

// The configuration of the plugin, a JSON text.
inline std::string config()
{
    return detail::get(witlet_host_config_get);
}

// The least that a plugin is: it is made of a configuration, of which it keeps no view, or says in words what is wrong with that.
template <class Type>
concept Configured = std::movable<Type> && requires(std::string_view config) {
    { Type::from_config(config) } -> std::same_as<Result<Type>>;
};

namespace detail {

// The plugin of this instance. It is made once, and again only if the configuration is another.
template <Configured Plugin>
Result<Plugin *> plugin()
{
    static std::optional<std::pair<std::string, Plugin>> kept;
    std::string now = config();
    if (!kept || kept->first != now) {
        Result<Plugin> made = Plugin::from_config(now);
        if (!made)
            return std::unexpected(std::move(made.error()));
        kept.emplace(std::move(now), std::move(*made));
    }
    return &kept->second;
}

} // namespace detail

// ---- Secrets: in worlds that import them ----
#ifdef WITLET_HOST_SECRET_SECRET_ERROR_NOT_GRANTED

enum class SecretError : uint8_t {
    not_granted = WITLET_HOST_SECRET_SECRET_ERROR_NOT_GRANTED,
    not_found = WITLET_HOST_SECRET_SECRET_ERROR_NOT_FOUND,
};

// The bytes of a secret that the plugin is granted. They belong in no log and no message.
inline std::expected<std::string, SecretError> secret(std::string_view name)
{
    std::string kept;
    plugin_string_t lent = detail::lend(name, kept);
    plugin_list_u8_t value;
    witlet_host_secret_secret_error_t error;
    if (!witlet_host_secret_get(&lent, &value, &error))
        return std::unexpected(static_cast<SecretError>(error));
    return detail::take(value);
}

#endif

} // namespace witlet
