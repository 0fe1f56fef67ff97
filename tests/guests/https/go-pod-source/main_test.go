package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWhatTheServerAnswersIsTheSet(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(status)
		_, _ = io.WriteString(answer, "{}")
	}))
	defer server.Close()
	source := https{URL: server.URL}
	first, err := source.Poll("")
	if err != nil || len(first.Manifests) != 1 || first.Manifests[0] != "{}" {
		t.Fatalf("%+v, %v", first, err)
	}
	if second, err := source.Poll(first.Cursor); err != nil || len(second.Manifests) != 0 {
		t.Errorf("%+v, %v", second, err)
	}
	status = http.StatusNotFound
	if nothing, err := source.Poll(first.Cursor); err == nil {
		t.Errorf("nothing is known: %+v", nothing)
	}
}
