// Pod sources. A source is a type that is made of a configuration, and tells which pods there are:
//
//     class Source {
//       public:
//         static witlet::Result<Source> from_config(std::string_view config);
//         witlet::pod_source::PollResult poll(std::optional<std::string_view> cursor) const;
//     };
//
//     WITLET_POD_SOURCE(Source)
//
// One whose world exports `feedback` too has another function, and WITLET_POD_SOURCE_FEEDBACK(Source):
//
//         witlet::Result<void> statuses(const std::vector<witlet::pod_source::PodStatus> &changed);
#pragma once

#include <chrono>
#include <variant>

#include "witlet.hpp"

#ifndef WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED
#error "the world in wit/ exports no pod source"
#endif

namespace witlet::pod_source {

// Nothing changed since the poll that returned the cursor.
struct Unchanged {};

// There are no pods.
struct Empty {};

// All pods of the source, each as the text of a manifest. There is one at least.
using Manifests = std::vector<std::string>;

using Snapshot = std::variant<Unchanged, Empty, Manifests>;

// What a poll found.
struct Poll {
    Snapshot snapshot;
    // Handed in with the next poll.
    std::optional<std::string> cursor = std::nullopt;
    // When to ask again, if it isn't left to the host.
    std::optional<std::chrono::milliseconds> next_poll = std::nullopt;
};

// Why nothing was found out: the pods of the last good poll stand.
struct Error {
    // A CamelCase word: `Unavailable`, `Denied`, `Invalid`.
    std::string reason;
    std::string message;
    std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
};

using PollResult = std::expected<Poll, Error>;

// The status of one of the source's pods, as JSON; none once the pod is gone.
struct PodStatus {
    std::string namespace_, name, uid;
    std::optional<std::string> status;
};

// The pods, or that they are the same as before: those of this list, of which the fingerprint is the cursor.
inline Poll compare(Manifests manifests, std::string fingerprint, std::optional<std::string_view> cursor)
{
    if (cursor == fingerprint)
        return {Unchanged{}, std::move(fingerprint)};
    if (manifests.empty())
        return {Empty{}, std::move(fingerprint)};
    return {std::move(manifests), std::move(fingerprint)};
}

// A cursor for a source: 64 bits of FNV-1a over all texts that it has, each with its length.
class Fingerprint {
  public:
    Fingerprint &add(std::string_view text)
    {
        uint64_t length = text.size();
        for (int shift = 0; shift < 64; shift += 8)
            byte(static_cast<uint8_t>(length >> shift));
        for (char letter : text)
            byte(static_cast<uint8_t>(letter));
        return *this;
    }

    // Sixteen hexadecimal digits.
    std::string text() const
    {
        std::string digits(16, '0');
        uint64_t rest = hash_;
        for (size_t at = digits.size(); at-- > 0; rest >>= 4)
            digits[at] = "0123456789abcdef"[rest & 15];
        return digits;
    }

  private:
    void byte(uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }

    uint64_t hash_ = 0xcbf29ce484222325u;
};

// ---- Exports ----

// What a source is.
template <class Type>
concept PodSource = Configured<Type> && requires(Type &source, std::optional<std::string_view> cursor) {
    { source.poll(cursor) } -> std::same_as<PollResult>;
};

// What a source is that wants to know what becomes of its pods.
template <class Type>
concept PodSourceWithFeedback = PodSource<Type> && requires(Type &source, const std::vector<PodStatus> &changed) {
    { source.statuses(changed) } -> std::same_as<Result<void>>;
};

namespace detail {

using namespace witlet::detail;

inline plugin_option_u64_t give_duration(std::optional<std::chrono::milliseconds> duration)
{
    plugin_option_u64_t given = {};
    given.is_some = duration.has_value();
    if (duration && duration->count() > 0)
        given.val = static_cast<uint64_t>(duration->count());
    return given;
}

inline witlet_pod_source_types_poll_result_t give_poll(const Poll &poll)
{
    witlet_pod_source_types_poll_result_t given = {};
    given.snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED;
    if (std::holds_alternative<Empty>(poll.snapshot))
        given.snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY;
    if (const auto *manifests = std::get_if<Manifests>(&poll.snapshot)) {
        given.snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS;
        given.snapshot.val.pods = give_list<plugin_list_string_t>(*manifests, give);
    }
    given.cursor.is_some = poll.cursor.has_value();
    if (poll.cursor)
        given.cursor.val = give(*poll.cursor);
    given.next_poll_milliseconds = give_duration(poll.next_poll);
    return given;
}

template <PodSource Source>
bool poll(plugin_string_t *maybe_cursor, witlet_pod_source_types_poll_result_t *result,
          witlet_pod_source_types_source_error_t *error)
{
    std::optional<std::string> cursor;
    if (maybe_cursor != nullptr)
        cursor = take(*maybe_cursor);
    Result<Source *> source = plugin<Source>();
    PollResult polled = source ? (*source)->poll(cursor) : std::unexpected(Error{"Invalid", source.error()});
    if (!polled) {
        const Error &why = polled.error();
        *error = {give(why.reason), give(why.message), give_duration(why.retry_after)};
        return false;
    }
    *result = give_poll(*polled);
    return true;
}

} // namespace detail

} // namespace witlet::pod_source

// Makes a type the plugin's pod source. Stands once, in no namespace.
#define WITLET_POD_SOURCE(Type)                                                                                                \
    bool exports_witlet_pod_source_source_validate(plugin_string_t *config, plugin_string_t *error)                            \
    {                                                                                                                          \
        return witlet::detail::check(config, error, [](std::string text) { return Type::from_config(text); });                 \
    }                                                                                                                          \
    bool exports_witlet_pod_source_source_poll(plugin_string_t *cursor, witlet_pod_source_types_poll_result_t *result,         \
                                               witlet_pod_source_types_source_error_t *error)                                  \
    {                                                                                                                          \
        return witlet::pod_source::detail::poll<Type>(cursor, result, error);                                                  \
    }

// Hands it the statuses of its pods, in worlds that export `feedback`. Stands once, in no namespace.
#define WITLET_POD_SOURCE_FEEDBACK(Type)                                                                                       \
    bool exports_witlet_pod_source_feedback_statuses(exports_witlet_pod_source_feedback_list_pod_status_t *list,               \
                                                     plugin_string_t *error)                                                   \
    {                                                                                                                          \
        static_assert(witlet::pod_source::PodSourceWithFeedback<Type>);                                                        \
        using namespace witlet::detail;                                                                                        \
        auto changed = take_list(*list, [](const auto &item) {                                                                 \
            return witlet::pod_source::PodStatus{                                                                              \
                take(item.namespace_), take(item.name), take(item.uid),                                                        \
                item.status.is_some ? std::optional(take(item.status.val)) : std::nullopt};                                    \
        });                                                                                                                    \
        witlet::Result<Type *> source = plugin<Type>();                                                                        \
        witlet::Result<void> taken = source ? (*source)->statuses(changed) : std::unexpected(source.error());                  \
        if (!taken)                                                                                                            \
            *error = give(taken.error());                                                                                      \
        return taken.has_value();                                                                                              \
    }
