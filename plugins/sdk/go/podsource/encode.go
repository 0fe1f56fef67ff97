package podsource

import (
	"errors"
	"fmt"
	"time"

	"witlet.dev/plugin/internal/abi"
)

// unavailable is the reason of an error that has none.
const unavailable = "Unavailable"

// invalid is the reason of an answer that is none.
const invalid = "Invalid"

// encode lays out what poll returns, a result of 48 bytes whose value begins at the 8th.
func encode(poll Poll, err error) uint32 {
	result := &abi.Result
	result.Begin(48)
	if err != nil {
		failed := &Error{Reason: unavailable, Message: err.Error()}
		if known := (*Error)(nil); errors.As(err, &known) {
			// What was wrapped around it stays in the message.
			failed.Reason, failed.RetryAfter = known.Reason, known.RetryAfter
		}
		result.Flag(0, 1)
		result.Text(8, failed.Reason)
		result.Text(16, failed.Message)
		result.OptionalU64(24, milliseconds(failed.RetryAfter), failed.RetryAfter > 0)
		return result.Address()
	}
	switch snapshot := poll.Snapshot.(type) {
	case Unchanged:
	case Pods:
		result.Flag(8, 1)
		result.Texts(12, snapshot)
	case Empty:
		result.Flag(8, 2)
	default:
		// A pointer, or a struct with a snapshot in it: nothing of it may read as the first case.
		result.Flag(0, 1)
		result.Text(8, invalid)
		result.Text(16, fmt.Sprintf("unknown snapshot type %T", snapshot))
		return result.Address()
	}
	result.OptionalText(20, poll.Cursor, poll.Cursor != "")
	result.OptionalU64(32, milliseconds(poll.NextPoll), poll.NextPoll > 0)
	return result.Address()
}

func milliseconds(wait time.Duration) uint64 { return uint64(max(0, wait/time.Millisecond)) }
