package native_test

import (
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// The bytes are those of DEFINE_GUID(…, 0x00112233, 0x4455, 0x6677, 0x88, …).
func TestDecodeGUID(t *testing.T) {
	memory := [16]byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	if got, want := native.DecodeGUID(memory).String(), "00112233-4455-6677-8899-aabbccddeeff"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !native.DecodeGUID([16]byte{}).IsZero() {
		t.Error("the zero GUID is not the zero ID")
	}
}

func TestEncodeText(t *testing.T) {
	for text, want := range map[string][]uint16{
		"":      {0},
		"aß":    {'a', 0xdf, 0},
		"a😀":    {'a', 0xd83d, 0xde00, 0},
		"a\xff": {'a', 0xfffd, 0},
	} {
		if diff := cmp.Diff(want, native.EncodeText(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte{'a', 0, 0x3d, 0xd8, 0x00, 0xde})
	f.Add([]byte{0x3d, 0xd8}) // half a pair
	f.Fuzz(func(t *testing.T, b []byte) {
		u := make([]uint16, len(b)/2)
		for i := range u {
			u[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		}
		text := native.DecodeText(u)
		back := native.EncodeText(text)
		if back[len(back)-1] != 0 {
			t.Fatalf("%q is not ended by NUL", text)
		}
		// Half pairs were replaced, which the second reading leaves alone.
		if again := string(utf16.Decode(back[:len(back)-1])); again != text {
			t.Errorf("%q came back as %q", text, again)
		}
	})
}
