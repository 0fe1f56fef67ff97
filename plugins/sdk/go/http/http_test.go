package http

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func soon() time.Time { return time.Now().Add(time.Minute) }

func TestAnAnswerHasItsPartsAndRedirectsAreNotFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, asked *http.Request) {
		body, _ := io.ReadAll(asked.Body)
		answer.Header().Set("Location", "/elsewhere")
		answer.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(answer, asked.Method+" "+asked.URL.RequestURI()+" "+asked.Header.Get("X-A")+" "+asked.UserAgent()+" "+string(body))
	}))
	defer server.Close()
	response, err := Send(Request{Method: "POST", URL: server.URL + "/a?b=c", Header: map[string]string{"X-A": "b"}, Body: []byte("how are you?")}, soon())
	if err != nil {
		t.Fatal(err)
	}
	expected := "POST /a?b=c b witlet how are you?"
	if response.Status != http.StatusFound || response.Header["location"] != "/elsewhere" || string(response.Body) != expected {
		t.Errorf("expected %q, found %+v %q", expected, response, response.Body)
	}
	cut, err := Send(Request{URL: server.URL, BodyBytesMax: 3}, soon())
	if err != nil || string(cut.Body) != "GET" {
		t.Errorf("the body is cut: %+v %v", cut, err)
	}
}

func TestWhatIsNoURLIsRefused(t *testing.T) {
	for _, url := range []string{"", "example.com", "ftp://a/", "https://", "https:///a", "https://me@a/", "https://a:b/", "https://a b/", "https://[::1/"} {
		if _, err := Get(url, soon()); err == nil || !strings.Contains(err.Error(), "is no URL of http or https") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestASilentServerEndsWithTheTime(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer server.Close()
	defer close(done)
	if _, err := Get(server.URL, time.Now()); err != ErrTimedOut {
		t.Errorf("expected %v, found %v", ErrTimedOut, err)
	}
}

func TestWhatTheHostSaysIsSaidInWords(t *testing.T) {
	for _, test := range []struct{ code, detail, message string }{
		{"connection-refused", "", "a:443: connection refused"},
		{"TLS-certificate-error", "", "a:443: TLS certificate error"},
		{"HTTP-request-denied", "", "asking a:443 isn't granted to the plugin"},
		{"internal-error", "tls: it speaks none", "a:443: tls: it speaks none"},
		{"internal-error", "", "a:443: internal error"},
		{"DNS-error", "NXDOMAIN", "a:443: DNS error (NXDOMAIN)"},
	} {
		if err := words(test.code, test.detail, "a:443"); err.Code != test.code || err.Message != test.message {
			t.Errorf("expected %q, found %+v", test.message, err)
		}
	}
}
