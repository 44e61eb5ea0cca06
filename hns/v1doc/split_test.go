package v1doc_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hnskit/hnskit/hns/v1doc"
)

func TestSplit(t *testing.T) {
	utf16LE := []byte{0xff, 0xfe}
	utf16BE := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(`[{"Name":"Zürich"}]`)) {
		utf16LE = binary.LittleEndian.AppendUint16(utf16LE, u)
		utf16BE = binary.BigEndian.AppendUint16(utf16BE, u)
	}
	tests := []struct {
		name, dump string
		want       []string
	}{
		{"nothing", " \r\n", nil},
		{"null", "null", nil},
		{"one", `{"ID":"a"}`, []string{`{"ID":"a"}`}},
		{"list", `[{"ID":"a"},{"ID":"b"}]`, []string{`{"ID":"a"}`, `{"ID":"b"}`}},
		{"one after the other", "{\"ID\":\"a\"}\r\n{\"ID\":\"b\"}", []string{`{"ID":"a"}`, `{"ID":"b"}`}},
		{"answer", `{"Success":true,"Output":[{"ID":"a"}]}`, []string{`{"ID":"a"}`}},
		{"empty answer", `{"Success":true}`, nil},
		{"Windows PowerShell", `{"value":[{"ID":"a"}],"Count":1}`, []string{`{"ID":"a"}`}},
		{"not that", `{"value":"x","Count":1}`, []string{`{"value":"x","Count":1}`}},
		{"byte order mark", "\ufeff[{}]", []string{`{}`}},
		{"UTF-16", string(utf16LE), []string{`{"Name":"Zürich"}`}},
		{"UTF-16, the other way", string(utf16BE), []string{`{"Name":"Zürich"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := v1doc.Split([]byte(tt.dump))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range docs {
				got = append(got, string(d))
			}
			same(t, "documents", tt.want, got)
		})
	}
}

func TestSplitRefuses(t *testing.T) {
	for dump, want := range map[string]string{
		`[{"ID":"a"},`: "at byte 12",
		`{} [{"ID"`:    "at byte 9",
		`{} Name : x`:  "at byte 4",
		`[{}, "x"]`:    `[1]: "x" is neither`,
		`{"Success":false,"Error":"Element not found. "}`: "Element not found.",
		`{"Success":false}`:                               "it does not say why",
		`{"Success":"true","Output":{}}`:                  `Success is "true"`,
		"\xff\xfe{\x00}\x00x":                             "at byte 6: half a character",
		strings.Repeat("[", 20) + strings.Repeat("]", 20): "too deep",
	} {
		if _, err := v1doc.Split([]byte(dump)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dump, err)
		}
	}
}
