package hns_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

func TestParseID(t *testing.T) {
	const text = "16de946a-9c28-549a-af05-33ab0201f9db"
	want := hns.ID{0x16, 0xde, 0x94, 0x6a, 0x9c, 0x28, 0x54, 0x9a, 0xaf, 0x05, 0x33, 0xab, 0x02, 0x01, 0xf9, 0xdb}
	for _, s := range []string{text, strings.ToUpper(text), "{" + text + "}", "16DE946A-9c28-549A-af05-33AB0201f9db"} {
		got, err := hns.ParseID(s)
		if err != nil || got != want {
			t.Errorf("ParseID(%q) = %v, %v", s, got, err)
		}
	}
	if got := want.String(); got != text {
		t.Errorf("String() = %s", got)
	}
	if got := want.Upper(); got != strings.ToUpper(text) {
		t.Errorf("Upper() = %s", got)
	}
}

// Texts that are no GUID were passed to HNS, or made the process panic
// (containerd/containerd#6305, kubernetes/kubernetes#79515).
func TestParseIDRefuses(t *testing.T) {
	for _, s := range []string{
		"", " ", "none", "web-ns-1",
		"16de946a9c28549aaf0533ab0201f9db",
		"16de946a-9c28-549a-af05-33ab0201f9d",
		"16de946a-9c28-549a-af05-33ab0201f9dbb",
		"16de946a-9c28-549a-af05-33ab0201f9db ",
		" 16de946a-9c28-549a-af05-33ab0201f9db",
		"{16de946a-9c28-549a-af05-33ab0201f9db",
		"(16de946a-9c28-549a-af05-33ab0201f9db)",
		"16de946a-9c28-549aa-f05-33ab0201f9db",
		"16de946a_9c28_549a_af05_33ab0201f9db",
		"g6de946a-9c28-549a-af05-33ab0201f9db",
		"{{6de946a-9c28-549a-af05-33ab0201f9d}}",
		"/var/run/netns/x",
	} {
		id, err := hns.ParseID(s)
		if !errors.Is(err, hns.ErrInvalid) || !id.IsZero() {
			t.Errorf("ParseID(%q) = %v, %v", s, id, err)
		}
		if s != "" && !strings.Contains(err.Error(), strings.TrimSpace(s)) {
			t.Errorf("the error does not show the value: %v", err)
		}
	}
	_, err := hns.ParseID(strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("the error of a long text has %d bytes", len(err.Error()))
	}
}

func TestIDText(t *testing.T) {
	type doc struct {
		ID hns.ID
		By map[hns.ID]string
	}
	in := doc{lake, map[hns.ID]string{podID: "pod"}}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"ID":"1a000000-0000-4000-8000-000000000001","By":{"2b000000-0000-4000-8000-0000000000ab":"pod"}}`; string(b) != want {
		t.Errorf("got %s", b)
	}
	var out doc
	if err := json.Unmarshal([]byte(strings.ToUpper(string(b[:45]))+string(b[45:])), &out); err != nil {
		t.Fatal(err)
	}
	same(t, "read back", in, out)

	var zero hns.ID
	if !zero.IsZero() || zero.String() != "00000000-0000-0000-0000-000000000000" {
		t.Errorf("zero ID: %s", zero)
	}
	id := lake
	if err := id.UnmarshalText(nil); err != nil || !id.IsZero() {
		t.Errorf("empty text: %v, %v", id, err)
	}
	id = lake
	if err := id.UnmarshalText([]byte("x")); !errors.Is(err, hns.ErrInvalid) || id != lake {
		t.Errorf("a text that is no GUID changed the ID to %v, %v", id, err)
	}
}

func TestNewID(t *testing.T) {
	seen := map[hns.ID]bool{}
	for range 100 {
		id := hns.NewID()
		if s := id.String(); s[14] != '4' || !strings.ContainsRune("89ab", rune(s[19])) {
			t.Fatalf("%s is no GUID of version 4", s)
		}
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("16de946a-9c28-549a-af05-33ab0201f9db")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := hns.ParseID(s)
		if err != nil {
			if !id.IsZero() || !errors.Is(err, hns.ErrInvalid) {
				t.Fatalf("ParseID(%q) = %v, %v", s, id, err)
			}
			return
		}
		if bare := strings.Trim(s, "{}"); id.String() != strings.ToLower(bare) {
			t.Fatalf("%q reads as %s", s, id)
		}
		if again, err := hns.ParseID(id.Upper()); err != nil || again != id {
			t.Fatalf("%s does not read back: %v, %v", id, again, err)
		}
	})
}
