#include "tell.hpp"

void Tell::comma()
{
    if (comma_)
        json_ += ',';
    comma_ = true;
}

void Tell::member(std::string_view key, std::string_view word)
{
    comma();
    json_ += witlet::concat(witlet::json_quoted(key), ":", word);
}

void Tell::begin(std::string_view key, char bracket)
{
    word(key, std::string_view(&bracket, 1));
    comma_ = false;
}

void Tell::end(char bracket)
{
    json_ += bracket;
    comma_ = true;
}

void Tell::text(std::string_view key, std::string_view text)
{
    word(key, witlet::json_quoted(text));
}

void Tell::word(std::string_view key, std::string_view word)
{
    if (!key.empty()) {
        member(key, word);
        return;
    }
    comma();
    json_ += word;
}

void Tell::json(std::string_view key, const std::string &text)
{
    witlet::Json value = witlet::Json::parse(std::string_view(text));
    word(key, value ? value.text() : "\"this is no JSON\"");
}

void Tell::pairs(std::string_view key, const witlet::Pairs &pairs)
{
    begin(key, '[');
    for (const auto &[name, value] : pairs)
        texts("", {name, value});
    end(']');
}

void Tell::texts(std::string_view key, const std::vector<std::string> &texts)
{
    begin(key, '[');
    for (const std::string &each : texts)
        text("", each);
    end(']');
}

witlet::Result<void> check_settings(std::string_view text)
{
    witlet::Json settings = witlet::Json::parse(text);
    if (!settings.is_object() && !settings.is_null())
        return witlet::fail("that isn't a JSON object");
    if (std::optional<std::string> words = settings["refuse"].string())
        return std::unexpected(*words);
    return {};
}

std::string member_text(witlet::Json object, std::string_view key)
{
    return object[key].string().value_or("");
}

int64_t member_number(witlet::Json object, std::string_view key)
{
    return object[key].integer().value_or(0);
}

std::optional<std::chrono::milliseconds> member_duration(witlet::Json object, std::string_view key)
{
    return object[key] ? std::optional(std::chrono::milliseconds(member_number(object, key))) : std::nullopt;
}
