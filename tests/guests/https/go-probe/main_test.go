package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/probe"
	"witlet.dev/plugin/v0_2/probe/probetest"
)

func TestAnAnswerIsJudgedByItsStatus(t *testing.T) {
	for status, expected := range map[int]probe.Outcome{200: probe.Success("200 edge fine"), 503: probe.Failure("503 edge fine")} {
		server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
			answer.Header().Set("X-Node", "edge")
			answer.WriteHeader(status)
			_, _ = io.WriteString(answer, "fine")
		}))
		target := probetest.Target{Timeout: time.Minute}.Target()
		found, err := https{}.Probe(target, &parameters{URL: server.URL})
		server.Close()
		if err != nil || found.Found != expected.Found || found.Message != expected.Message {
			t.Errorf("%d: %+v, %v", status, found, err)
		}
	}
}
