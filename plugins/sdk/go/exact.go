package plugin

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// exactly is an error if a key of an object isn't, letter by letter, the name of a field of the type: encoding/json takes `Port` for
// `port`, which the host and other languages' SDKs take for another field. The decoder stands before a text that fits the type.
func exactly(decoder *json.Decoder, of reflect.Type, path string) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	of = checked(of)
	switch token {
	case json.Delim('{'):
		fields := fieldsOf(of)
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			child := elementOf(of)
			if fields != nil {
				var ok bool
				if child, ok = fields[name]; !ok {
					return unknown(path, name, fields)
				}
			}
			if err := exactly(decoder, child, path+name+"."); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for decoder.More() {
			if err := exactly(decoder, elementOf(of), path); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	// The closing bracket.
	_, err = decoder.Token()
	return err
}

func unknown(path, name string, fields map[string]reflect.Type) error {
	for known := range fields {
		if strings.EqualFold(known, name) {
			return fmt.Errorf("unknown field %q, expected %q", path+name, path+known)
		}
	}
	return fmt.Errorf("unknown field %q", path+name)
}

// checked is the type that a value of JSON is decoded as; nil for one that decodes itself, or takes anything.
func checked(of reflect.Type) reflect.Type {
	for of != nil {
		if decodesItself(of) {
			return nil
		}
		if of.Kind() != reflect.Pointer {
			return of
		}
		of = of.Elem()
	}
	return nil
}

func decodesItself(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)
	return pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// elementOf is the type of what a map or a list has; nil for anything.
func elementOf(of reflect.Type) reflect.Type {
	if of == nil {
		return nil
	}
	switch of.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return of.Elem()
	default:
		return nil
	}
}

// fieldsOf are the fields of a struct by their names in JSON; nil of another type.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	if of == nil || of.Kind() != reflect.Struct {
		return nil
	}
	fields := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(of) {
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		isPart := field.Anonymous && name == "" // its fields are visible ones of their own
		if tag == "-" || isPart || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		fields[name] = field.Type
	}
	return fields
}
