package admissiontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"witlet.dev/plugin/internal/pointer"
)

// What is missing in a manifest, or of another type, is nothing.

// parse reads a manifest, a JSON text; empty for nothing. It panics if it is none.
func parse(text string) (value any) {
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("admissiontest: it is no JSON text: %v", err))
	}
	return value
}

// get goes from a value to what it has: keys of objects, places in lists.
func get(value any, path ...any) any {
	for _, part := range path {
		switch part := part.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[part]
		case int:
			list, _ := value.([]any)
			if part >= len(list) {
				return nil
			}
			value = list[part]
		}
	}
	return value
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

func flag(value any) bool {
	flag, _ := value.(bool)
	return flag
}

func number(value any) (int64, bool) {
	written, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	number, err := written.Int64()
	return number, err == nil
}

func items(value any) []any {
	list, _ := value.([]any)
	return list
}

func texts(value any) (all []string) {
	for _, item := range items(value) {
		all = append(all, text(item))
	}
	return all
}

func pairs(value any) map[string]string {
	object, _ := value.(map[string]any)
	all := make(map[string]string, len(object))
	for key, value := range object {
		if text, ok := value.(string); ok {
			all[key] = text
		}
	}
	return all
}

// present is a text that isn't empty.
func present(text string) (string, bool) { return text, text != "" }

func names(of ...map[string]int64) []string {
	all := make(map[string]bool)
	for _, amounts := range of {
		for name := range amounts {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("admissiontest: %v", err))
	}
	return string(text)
}

func at(value any, path string) (string, bool) { return pointer.Lookup(written(value), path) }

// wrap makes things of all items of a list.
func wrap[T any](list []any, of func(spec any) T) []T {
	all := make([]T, len(list))
	for i, spec := range list {
		all[i] = of(spec)
	}
	return all
}
