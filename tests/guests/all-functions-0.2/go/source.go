package main

import (
	"encoding/json"
	"log/slog"
	"time"

	"witlet.dev/plugin/v0_2/podsource"
	"witlet.dev/plugin/v0_2/podsource/feedback"
)

type source struct {
	Do                   string            `json:"do"`
	Pods                 []json.RawMessage `json:"pods"`
	Next                 string            `json:"cursor"`
	NextPollMilliseconds int64             `json:"nextPollMilliseconds"`
}

func (s source) Validate(warn func(string)) error {
	warn("of the configuration")
	return refused(s.Do)
}

// Poll gives the answer that the configuration names.
func (s source) Poll(cursor string) (podsource.Poll, error) {
	if cursor == "" {
		cursor = none
	}
	slog.Info("cursor "+cursor, "language", "go")
	var poll podsource.Poll
	switch s.Do {
	case "error":
		return poll, ownError()
	case "empty":
		poll = podsource.Empty()
	case "host":
		poll = podsource.All([]string{text(tellHost(s.Do != ""))})
	case "pods":
		poll = podsource.All(each(s.Pods, func(pod json.RawMessage) string { return string(pod) }))
	default:
		poll = podsource.Unchanged()
	}
	return poll.At(s.Next).After(time.Duration(s.NextPollMilliseconds) * time.Millisecond), nil
}

// Notify logs what it receives.
func (source) Notify(news []feedback.Change) error {
	for _, change := range news {
		status := change.Status
		if status == "" {
			status = none
		}
		slog.Info("news.next",
			"change.kind", change.Kind, "change.namespace", change.Namespace, "change.name", change.Name, "change.uid", change.UID,
			"change.phase", change.Phase, "change.reason", change.Reason, "change.message", change.Message, "change.status", status,
		)
	}
	return nil
}
