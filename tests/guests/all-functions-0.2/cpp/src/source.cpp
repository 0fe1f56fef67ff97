// The role pod source, with feedback: the answer that the configuration names.
#include "call.hpp"

// The source has its configuration as it came.
class Source {
  public:
    static witlet::Outcome<Source> from_config(std::string_view config)
    {
        return settings_of(config).transform([](std::string text) { return Source(std::move(text)); });
    }

    witlet::Outcome<void> poll(std::optional<std::string_view> cursor, witlet::pod_source::Answer answer) const
    {
        witlet::Json settings = witlet::Json::parse(text_);
        std::string part = member_text(settings, "do");
        witlet::log(witlet::Level::info, witlet::concat("cursor ", cursor.value_or(none)));
        if (part == "error")
            return own_error();
        if (part == "empty") {
            answer.empty();
        } else if (part == "host") {
            Tell tell;
            tell_host(tell);
            answer.pod(tell.take());
        } else if (part == "pods") {
            for (witlet::Json pod : settings["pods"].items())
                answer.pod(pod.text());
        } else {
            answer.unchanged();
        }
        if (std::optional<std::string> next = settings["cursor"].string())
            answer.cursor(*next);
        if (std::optional<std::chrono::milliseconds> wait = member_duration(settings, "nextPollMilliseconds"))
            answer.next_poll(*wait);
        return {};
    }

  private:
    explicit Source(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

bool exports_witlet_pod_source_source_validate(exports_witlet_pod_source_source_borrow_setup_t setup, plugin_string_t *config,
                                               exports_witlet_pod_source_source_own_error_t *error)
{
    witlet::detail::say(witlet_pod_source_source_types_method_setup_warn, setup, "of the configuration");
    auto made = Source::from_config(witlet::detail::take(*config));
    return witlet::detail::done(made ? witlet::Outcome<void>() : std::unexpected(made.error()), error);
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor, exports_witlet_pod_source_source_borrow_answer_t answer,
                                           exports_witlet_pod_source_source_own_error_t *error)
{
    std::optional<std::string> cursor;
    if (maybe_cursor != nullptr)
        cursor = witlet::detail::take(*maybe_cursor);
    auto source = witlet::detail::loaded<Source>();
    return witlet::detail::done(source ? (*source)->poll(cursor, witlet::pod_source::Answer(answer))
                                       : std::unexpected(source.error()),
                                error);
}

bool exports_witlet_pod_source_feedback_notify(exports_witlet_pod_source_feedback_borrow_news_t news,
                                               exports_witlet_pod_source_feedback_own_error_t *)
{
    witlet_pod_source_source_types_own_change_t own;
    while (witlet_pod_source_source_types_method_news_next(news, &own)) {
        witlet::Owned change = witlet::owned(own);
        auto text = [&](auto getter) { return witlet::get(getter, change.borrow()); };
        std::string kind = text(witlet_pod_source_source_types_method_change_kind), space = text(witlet_pod_source_source_types_method_change_namespace);
        std::string name = text(witlet_pod_source_source_types_method_change_name), uid = text(witlet_pod_source_source_types_method_change_uid);
        std::string phase = text(witlet_pod_source_source_types_method_change_phase), reason = text(witlet_pod_source_source_types_method_change_reason);
        std::string message = text(witlet_pod_source_source_types_method_change_message);
        std::string status = witlet::get_option(witlet_pod_source_source_types_method_change_status, change.borrow()).value_or(std::string(none));
        witlet::log(witlet::Level::info, "news.next",
                    {{"change.kind", kind}, {"change.namespace", space}, {"change.name", name}, {"change.uid", uid}, {"change.phase", phase},
                     {"change.reason", reason}, {"change.message", message}, {"change.status", status}});
    }
    return true;
}
