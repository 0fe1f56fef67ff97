// Package http asks by HTTP and HTTPS, for probe types and pod sources with the grant network. The host does it: it resolves names, connects
// within the grant, and does TLS by the authorities, and with the client certificate, that the plugin's entry grants. The world imports
// wasi:http/outgoing-handler@0.2.0 and wasi:clocks/monotonic-clock@0.2.0. Other goroutines stand still while it waits. Outside a component
// it is net/http, so that tests can bring servers of their own.
package http

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"witlet.dev/plugin/internal/streams"
)

// BodyBytesDefault is how much of a body is kept if a request doesn't say.
const BodyBytesDefault = 64 << 10

// ErrTimedOut: the deadline was over before the whole answer was there.
var ErrTimedOut = streams.ErrTimedOut

// An Error says why there is no answer.
type Error struct {
	// Code is the host's word, such as connection-refused, TLS-certificate-error or HTTP-request-denied; empty outside a component.
	Code string
	// Message is for people.
	Message string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// A Request is what is asked.
type Request struct {
	// Method is GET if it is empty.
	Method string
	// URL is of http or https, with a host and without a user.
	URL string
	// Header has one value for each name.
	Header map[string]string
	Body   []byte
	// BodyBytesMax is after how many bytes the answer's body is cut; BodyBytesDefault if it is 0.
	BodyBytesMax int
}

// A Response is what a server answers.
type Response struct {
	Status int
	// Header has names in small letters; of several with one name the last.
	Header map[string]string
	Body   []byte
}

// Get asks for what is at a URL.
func Get(url string, deadline time.Time) (*Response, error) {
	return Send(Request{URL: url}, deadline)
}

// Send asks once, until the deadline. Redirects aren't followed: location in the answer's header says where they lead.
func Send(request Request, deadline time.Time) (*Response, error) {
	parts, err := url.Parse(request.URL)
	if err != nil || parts.Scheme != "http" && parts.Scheme != "https" || parts.Host == "" || parts.User != nil {
		return nil, &Error{Message: fmt.Sprintf("%.256q is no URL of http or https with a host and without a user", request.URL)}
	}
	if request.Method == "" {
		request.Method = "GET"
	}
	if request.BodyBytesMax == 0 {
		request.BodyBytesMax = BodyBytesDefault
	}
	header := map[string]string{"User-Agent": "witlet", "Accept": "*/*"}
	for name, value := range request.Header {
		header[name] = value
	}
	if len(request.Body) > 0 {
		header["Content-Length"] = strconv.Itoa(len(request.Body))
	}
	request.Header = header
	return send(request, parts, deadline)
}

// words are a code of the host and what it says to it, about a host and a port.
func words(code, detail, authority string) *Error {
	switch {
	case code == "HTTP-request-denied":
		return &Error{code, "asking " + authority + " isn't granted to the plugin"}
	case code == "internal-error" && detail != "":
		return &Error{code, authority + ": " + detail}
	case detail != "":
		return &Error{code, authority + ": " + spaced(code) + " (" + detail + ")"}
	default:
		return &Error{code, authority + ": " + spaced(code)}
	}
}
