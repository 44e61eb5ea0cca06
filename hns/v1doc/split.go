package v1doc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Split returns the documents in a dump, in order. It takes a list; an object
// by itself, or several one after the other, as hnsdiag -d prints them; the
// answer of a v1 call, {"Success":true,"Output":…}; and {"value":[…],"Count":n},
// as ConvertTo-Json of Windows PowerShell wraps some lists. Lists within are
// taken apart too. The text is UTF-8, or UTF-16 with a byte order mark, as
// PowerShell's redirection writes it. Nothing, and null, is no document.
//
// The error names the offset in the text (as UTF-8), or is the Error of an
// answer without success.
func Split(dump []byte) ([]json.RawMessage, error) {
	text, err := utf8Of(dump)
	if err != nil {
		return nil, fmt.Errorf("read dump of schema 1: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	d := json.NewDecoder(bytes.NewReader(text))
	var out []json.RawMessage
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read dump of schema 1: at byte %d: %w", offset(text, err), err)
		}
		docs, err := unwrap(raw, deepest)
		if err != nil {
			return nil, fmt.Errorf("read dump of schema 1: before byte %d: %w", d.InputOffset(), err)
		}
		out = append(out, docs...)
	}
}

// offset returns where the text stops being JSON.
func offset(text []byte, err error) int64 {
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return bad.Offset
	}
	return int64(len(text)) // it ends too early
}

// deepest is how many lists and answers may stand within each other.
const deepest = 8

func unwrap(raw json.RawMessage, depth int) ([]json.RawMessage, error) {
	switch {
	case depth == 0:
		return nil, errors.New("lists within lists, too deep")
	case string(raw) == "null":
		return nil, nil
	case raw[0] == '[':
		return unwrapList(raw, depth-1)
	case raw[0] != '{':
		return nil, fmt.Errorf("%.64s is neither an object nor a list", raw)
	}
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if success := o.get("Success"); success != nil {
		var ok bool
		if json.Unmarshal(success, &ok) != nil {
			return nil, fmt.Errorf("an answer whose Success is %.64s, neither true nor false", success)
		}
		if !ok {
			return nil, fmt.Errorf("the answer is a failure: %s", cmp.Or(strings.TrimSpace(o.str("Error")), "it does not say why"))
		}
		if o.get("Output") == nil {
			return nil, nil
		}
		return unwrap(o.get("Output"), depth-1)
	}
	if list := o.get("value"); len(o) == 2 && o.get("Count") != nil && len(list) > 0 && list[0] == '[' {
		return unwrapList(list, depth-1)
	}
	return []json.RawMessage{raw}, nil
}

func unwrapList(raw json.RawMessage, depth int) ([]json.RawMessage, error) {
	var l, out []json.RawMessage
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, err
	}
	for i, e := range l {
		docs, err := unwrap(e, depth)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, docs...)
	}
	return out, nil
}

// utf8Of turns UTF-16 with a byte order mark into UTF-8.
func utf8Of(b []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return b, nil
	}
	if len(b)%2 != 0 {
		return nil, fmt.Errorf("at byte %d: half a character of UTF-16, where the text ends", len(b)-1)
	}
	var units []uint16
	for b = b[2:]; len(b) > 0; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units))), nil
}
