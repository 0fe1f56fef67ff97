#include "../fakes.h"
#include "../pod-source/pod_source.h"

const char *fake_notify(const struct fake_change *news, size_t count)
{
    witlet_host_errors_own_error_t error = {0};
    fakes_begin();
    fakes_news(news, count);
    bool good = exports_witlet_pod_source_feedback_notify((witlet_pod_source_source_types_borrow_news_t){1}, &error);
    return fakes_end(good, error);
}
