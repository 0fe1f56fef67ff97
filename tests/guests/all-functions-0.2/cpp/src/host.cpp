// What plugins of all roles have: the package host.
#include "call.hpp"

namespace witlet {
WITLET_OWNED(witlet_host_errors, error)
WITLET_OWNED(witlet_host_data, snapshot)
} // namespace witlet

std::unexpected<witlet::Failure> own_error()
{
    return std::unexpected(witlet::Failure{"NoTable", "the table can't be read", std::chrono::milliseconds(7000), {{"rows", "7"}}});
}

witlet::Outcome<std::string> settings_of(std::string_view text)
{
    if (member_text(witlet::Json::parse(text), "do") == "refuse")
        return own_error();
    return std::string(text);
}

void tell_own_error(Tell &tell)
{
    witlet::Owned own = witlet::owned(witlet::detail::give_error(own_error().error()));
    Getters error{tell, own.borrow()};
    tell.begin("", '{');
    error.call("errors/error.code", witlet_host_errors_method_error_code);
    error.call("errors/error.message", witlet_host_errors_method_error_message);
    error.call("errors/error.retry-after-milliseconds", witlet_host_errors_method_error_retry_after_milliseconds);
    error.call("errors/error.detail", witlet_host_errors_method_error_detail, "rows");
    tell.end('}');
}

// A text for an argument that lives as long as the program.
static plugin_string_t lent(std::string_view literal)
{
    std::string kept;
    return witlet::detail::lend(literal, kept);
}

static void tell_metrics(Tell &tell)
{
    plugin_tuple2_string_string_t label = {lent("how"), lent("once")};
    plugin_list_tuple2_string_string_t labels = {&label, 1}, no_labels = {nullptr, 0};
    plugin_string_t asked = lent("asked"), answered = lent("answered");
    witlet_host_metrics_add(&asked, &labels, 2);
    tell.word("metrics/add", "true");
    witlet_host_metrics_observe(&answered, &no_labels, 0.5);
    tell.word("metrics/observe", "true");
}

static std::string secret(std::string_view name)
{
    plugin_string_t asked = lent(name);
    plugin_list_u8_t value;
    witlet_host_secret_own_error_t error;
    return witlet_host_secret_get(&asked, &value, &error) ? witlet::detail::take(value) : witlet::detail::take_error(error).code;
}

// What a function of the interface node returns, which has no resource.
template <class Function>
static std::optional<std::string> of_node(Function function)
{
    plugin_string_t text;
    return function(&text) ? std::optional(witlet::detail::take(text)) : std::nullopt;
}

static void tell_node(Tell &tell)
{
    auto label = [](std::string_view key) {
        plugin_string_t asked = lent(key);
        return of_node([&](plugin_string_t *text) { return witlet_host_node_label(&asked, text); });
    };
    auto allocatable = [](std::string_view resource) {
        plugin_string_t asked = lent(resource);
        int64_t amount;
        return witlet_host_node_allocatable(&asked, &amount) ? std::optional(amount) : std::nullopt;
    };
    plugin_list_tuple2_string_string_t labels;
    plugin_list_string_t addresses;
    tell_option(tell, "node/name", of_node(witlet_host_node_name));
    tell_both(tell, "node/label", label("disk"), label(none));
    witlet_host_node_labels(&labels);
    tell.pairs("node/labels", witlet::detail::take_pairs(labels));
    tell_option(tell, "node/zone", of_node(witlet_host_node_zone));
    witlet_host_node_addresses(&addresses);
    tell.texts("node/addresses", witlet::detail::take_list(addresses, [](plugin_string_t text) { return witlet::detail::take(text); }));
    tell_both(tell, "node/allocatable", allocatable("cpu"), allocatable(none));
}

void tell_host(Tell &tell)
{
    plugin_string_t shadow = lent("shadow"), teleport = lent("teleport");
    tell.begin("", '{');
    tell.word("config/get", word_of(witlet::config() != "null"));
    tell.word("log/enabled", word_of(witlet_host_log_enabled(WITLET_HOST_LOG_LEVEL_ERROR)));
    tell_metrics(tell);
    tell_node(tell);
    tell.begin("features/has", '[');
    tell.word("", word_of(witlet_host_features_has(&shadow)));
    tell.word("", word_of(witlet_host_features_has(&teleport)));
    tell.end(']');
    tell.texts("secret/get", {secret("given"), secret("other")});
    tell.end('}');
}

static void tell_snapshot(Tell &tell, witlet_host_data_borrow_snapshot_t snapshot)
{
    auto read = [&](uint64_t offset, uint64_t length) {
        plugin_list_u8_t bytes;
        witlet_host_data_method_snapshot_read(snapshot, offset, length, &bytes);
        return witlet::detail::take(bytes);
    };
    Getters getters{tell, snapshot};
    uint64_t size = witlet_host_data_method_snapshot_size(snapshot);
    tell.begin("", '{');
    getters.call("data/snapshot.digest", witlet_host_data_method_snapshot_digest);
    tell.number("data/snapshot.size", size);
    tell.texts("data/snapshot.read", {read(0, size), read(1, 3), read(size, 1)});
    tell.end('}');
}

void tell_data(Tell &tell)
{
    plugin_list_string_t names;
    witlet_host_data_names(&names);
    tell.begin("", '{');
    tell.texts("data/names", witlet::detail::take_list(names, [](plugin_string_t text) { return witlet::detail::take(text); }));
    tell.begin("data/open", '[');
    for (std::string_view name : {std::string_view("list"), none}) {
        plugin_string_t asked = lent(name);
        witlet_host_data_own_snapshot_t snapshot;
        witlet_host_data_own_error_t error;
        if (witlet_host_data_open(&asked, &snapshot, &error))
            tell_snapshot(tell, witlet::owned(snapshot).borrow());
        else
            tell.text("", witlet::detail::take_error(error).code);
    }
    tell.end(']');
    tell.end('}');
}
