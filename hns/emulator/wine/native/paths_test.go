package native

import "testing"

func TestWinePath(t *testing.T) {
	for path, want := range map[string]string{
		"":              "",
		"/tmp/a b.json": `Z:\tmp\a b.json`,
		`Z:\tmp\x`:      `Z:\tmp\x`,
		"C:/x":          "C:/x",
		"state.json":    "state.json",
	} {
		if got := winePath(path); got != want {
			t.Errorf("winePath(%q) = %q, want %q", path, got, want)
		}
	}
}
