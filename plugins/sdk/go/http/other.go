//go:build !wasip1

package http

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client doesn't follow redirects, as the host doesn't.
var client = http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func send(request Request, to *url.URL, deadline time.Time) (*Response, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, request.Method, to.String(), bytes.NewReader(request.Body))
	if err != nil {
		return nil, &Error{Message: "the request can't be sent: " + request.Method + " " + request.URL}
	}
	for name, value := range request.Header {
		asked.Header.Set(name, value)
	}
	answered, err := client.Do(asked)
	if err != nil {
		return nil, problem(err)
	}
	defer answered.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answered.Body, int64(request.BodyBytesMax)))
	if err != nil {
		return nil, problem(err)
	}
	header := map[string]string{}
	for name, values := range answered.Header {
		header[strings.ToLower(name)] = values[len(values)-1]
	}
	return &Response{Status: answered.StatusCode, Header: header, Body: body}, nil
}

func problem(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTimedOut
	}
	return &Error{Message: err.Error()}
}
