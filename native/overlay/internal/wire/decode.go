package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Validator is a message that can check itself after it is decoded.
type Validator interface{ Validate() error }

// Decode reads one JSON object of at most max bytes into v and validates it.
func Decode(data []byte, max int, v Validator) error {
	if len(data) > max {
		return fmt.Errorf("the message has %d bytes, the limit is %d", len(data), max)
	}
	if err := checkShape(data); err != nil {
		return err
	}
	return decodeBody(data, v)
}

// decodeBody decodes JSON whose shape has been checked.
func decodeBody(data []byte, v Validator) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the message does not fit its definition: %w", err)
	}
	return v.Validate()
}

// Marshal encodes v without HTML escapes, so that the length of a text is predictable.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// shapeError is a fault of a text, with its place.
type shapeError struct {
	error
	offset int64
}

// checkShape refuses what encoding/json accepts silently: keys that differ only in case or appear twice (the last one
// would win), invalid UTF-8 (it would be replaced), a second value after the first, and deep nesting.
func checkShape(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the message is not valid UTF-8")
	}
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return errors.New("the message is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type level struct {
		keys  map[string]struct{} // nil for an array
		value bool                // true if the next token of an object is a value
	}
	var stack []level
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &shapeError{fmt.Errorf("the message is not valid JSON: %w", err), d.InputOffset()}
		}
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
					return errors.New("the message has bytes after its JSON object")
				}
				return nil
			}
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].keys != nil {
			top := &stack[n-1]
			if !top.value {
				key := strings.ToLower(t.(string))
				if _, twice := top.keys[key]; twice {
					return &shapeError{fmt.Errorf("the key %q appears twice", key), d.InputOffset()}
				}
				top.keys[key] = struct{}{}
				top.value = true
				continue
			}
			top.value = false
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]struct{}{}})
		case json.Delim('['):
			stack = append(stack, level{})
		}
		if len(stack) > MaxDepth {
			return &shapeError{fmt.Errorf("the message is nested deeper than %d levels", MaxDepth), d.InputOffset()}
		}
	}
}
