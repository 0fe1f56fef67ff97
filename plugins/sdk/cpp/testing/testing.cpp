// The host's functions that all roles have.
#include "testing.hpp"

#include "json.hpp"

namespace witlet::testing::detail {

std::optional<std::string> pointed(std::string_view json, std::string_view path)
{
    Json value = Json::parse(json);
    while (value && path.starts_with('/')) {
        path.remove_prefix(1);
        std::string_view token = path.substr(0, path.find('/'));
        path.remove_prefix(token.size());
        std::string name;
        for (size_t at = 0; at < token.size(); at++) {
            bool is_escape = token[at] == '~' && at + 1 < token.size();
            name += !is_escape ? token[at] : token[++at] == '1' ? '/' : '~';
        }
        size_t index = 0;
        auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
        bool is_index = error == std::errc() && end == name.data() + name.size();
        if (value.is_array())
            value = is_index ? value[index] : Json();
        else
            value = value[name];
    }
    return value && path.empty() ? std::optional(std::string(value.text())) : std::nullopt;
}

} // namespace witlet::testing::detail

using witlet::testing::host;
namespace detail = witlet::testing::detail;

void witlet_host_config_get(plugin_string_t *ret)
{
    *ret = detail::give(host.config);
}

void witlet_host_log_write(witlet_host_log_level_t level, plugin_string_t *message, plugin_list_tuple2_string_string_t *fields)
{
    witlet::testing::Line line = {static_cast<witlet::Level>(level), std::string(detail::view(*message)), {}};
    for (size_t index = 0; index < fields->len; index++)
        line.fields.emplace_back(detail::view(fields->ptr[index].f0), detail::view(fields->ptr[index].f1));
    host.lines.push_back(std::move(line));
}

#ifdef WITLET_HOST_SECRET_SECRET_ERROR_NOT_GRANTED

bool witlet_host_secret_get(plugin_string_t *name, plugin_list_u8_t *ret, witlet_host_secret_secret_error_t *err)
{
    auto granted = host.secrets.find(detail::view(*name));
    if (granted == host.secrets.end() || !granted->second) {
        *err = granted == host.secrets.end() ? WITLET_HOST_SECRET_SECRET_ERROR_NOT_GRANTED
                                             : WITLET_HOST_SECRET_SECRET_ERROR_NOT_FOUND;
        return false;
    }
    *ret = detail::give_bytes<plugin_list_u8_t>(*granted->second);
    return true;
}

#endif
