package native

import (
	"unicode/utf16"

	"github.com/hnskit/hnskit/hns"
)

// DecodeGUID returns the id in a GUID as it lies in memory: its first three
// groups are little-endian numbers.
func DecodeGUID(b [16]byte) hns.ID {
	return hns.ID{
		b[3], b[2], b[1], b[0],
		b[5], b[4],
		b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15],
	}
}

// EncodeText returns s in UTF-16 with a NUL at its end. JSON holds no NUL, so
// none is inside.
func EncodeText(s string) []uint16 {
	return append(utf16.Encode([]rune(s)), 0)
}

// DecodeText returns the text in u, which has no NUL. A half surrogate pair
// becomes U+FFFD.
func DecodeText(u []uint16) string {
	return string(utf16.Decode(u))
}
