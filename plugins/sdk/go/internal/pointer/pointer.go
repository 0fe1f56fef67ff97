// Package pointer looks up JSON pointers (RFC 6901), as the host does, for tests.
package pointer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Lookup is the JSON text at a pointer into a JSON text; false where it has nothing.
func Lookup(text, path string) (string, bool) {
	if text == "" || path != "" && !strings.HasPrefix(path, "/") {
		return "", false
	}
	rest := json.RawMessage(text)
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var ok bool
		if rest, ok = child(rest, part); !ok {
			return "", false
		}
	}
	return string(rest), json.Valid(rest)
}

func child(text json.RawMessage, part string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil && object != nil {
		value, ok := object[part]
		return value, ok
	}
	var list []json.RawMessage
	index, err := strconv.ParseUint(part, 10, 31)
	if err != nil || json.Unmarshal(text, &list) != nil || int(index) >= len(list) {
		return nil, false
	}
	return list[index], strconv.FormatUint(index, 10) == part
}
