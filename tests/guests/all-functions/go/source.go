package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"witlet.dev/plugin/podsource"
	"witlet.dev/plugin/podsource/feedback"
)

type source struct{}

func (source) Validate(config *setting) error { return config.refuse() }

// Poll gives the answer that the configuration asks for.
func (source) Poll(cursor string, config *setting) (podsource.Poll, error) {
	if cursor == "" {
		cursor = "none"
	}
	slog.Info("cursor "+cursor, "language", "go")
	poll := podsource.Poll{
		Snapshot: podsource.Unchanged{},
		Cursor:   config.Cursor,
		NextPoll: time.Duration(config.NextPollMilliseconds) * time.Millisecond,
	}
	switch wish := config.wishes.Poll; {
	case wish.Error != nil:
		retryAfter := time.Duration(wish.Error.RetryAfterMilliseconds) * time.Millisecond
		return poll, &podsource.Error{Reason: wish.Error.Reason, Message: wish.Error.Message, RetryAfter: retryAfter}
	case wish.Pods != nil:
		var manifests []string
		for _, pod := range wish.Pods {
			manifests = append(manifests, string(pod))
		}
		poll.Snapshot = podsource.Pods(manifests)
	case wish.Empty:
		poll.Snapshot = podsource.Empty{}
	}
	return poll, nil
}

// Statuses returns what it received, as an error, if the configuration says so.
func (source) Statuses(changed []feedback.PodStatus, config *setting) error {
	if !config.TellStatuses {
		return nil
	}
	return errors.New(text(each(changed, func(it feedback.PodStatus) object {
		status := json.RawMessage("null")
		if it.Status != "" {
			status = json.RawMessage(it.Status)
		}
		return object{"namespace": it.Namespace, "name": it.Name, "uid": it.UID, "status": status}
	})))
}
