package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
)

// LevelTrace is below slog.LevelDebug: the contract has one level more than slog has names.
const LevelTrace = slog.LevelDebug - 4

// depthMax is how many objects and arrays a configuration or parameters may have in each other. Each takes a piece of the stack when it
// is decoded, and a component's stack is small.
const depthMax = 128

// Decode reads a configuration or parameters, a JSON text, as a value of a type. null gives the type's zero value. What the type has no
// field for is an error, which names it, and so is what doesn't fit. Names of fields are exact: Port isn't port.
func Decode[T any](text string) (*T, error) {
	value := new(T)
	if Depth(text) > depthMax {
		return nil, fmt.Errorf("more than %d objects and lists are in each other", depthMax)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return nil, inWords(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	if err := exactly(json.NewDecoder(strings.NewReader(text)), reflect.TypeFor[T](), ""); err != nil {
		return nil, err
	}
	return value, nil
}

// inWords makes an error of encoding/json one that operators understand: with the field, and without Go's types where it can.
func inWords(err error) error {
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		if mismatch.Field == "" {
			return fmt.Errorf("found %s, expected %s", mismatch.Value, kind(mismatch))
		}
		return fmt.Errorf("%s: found %s, expected %s", mismatch.Field, mismatch.Value, kind(mismatch))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// kind is what JSON calls the Go type that a value didn't fit.
func kind(mismatch *json.UnmarshalTypeError) string {
	switch name := mismatch.Type.Kind().String(); name {
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "slice", "array":
		return "a list"
	case "struct", "map":
		return "an object"
	case "float32", "float64":
		return "a number"
	default:
		if strings.Contains(name, "int") {
			return "a whole number (" + name + ")"
		}
		return name
	}
}

// Depth is how many objects and arrays of a JSON text are in each other. Bound it before you decode what others wrote: each takes a piece
// of the stack, and one that is full ends the call.
func Depth(text string) int {
	deepest, level := 0, 0
	for rest := []byte(text); len(rest) > 0; {
		at := bytes.IndexAny(rest, `"[{]}`)
		if at < 0 {
			break
		}
		switch rest[at] {
		case '"':
			at += textLength(rest[at+1:])
		case '[', '{':
			level++
			deepest = max(deepest, level)
		default:
			level--
		}
		rest = rest[min(at+1, len(rest)):]
	}
	return deepest
}

// textLength is how many bytes a JSON string has after its first quotation mark, the last one among them.
func textLength(rest []byte) int {
	for at := 0; at < len(rest); at++ {
		switch rest[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(rest)
}
