package errlist_test

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/hnskit/hnskit/internal/errlist"
)

func TestJoin(t *testing.T) {
	if err := errlist.Join(nil, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	err := errlist.Join(nil, io.EOF, nil, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})
	if got, want := err.Error(), "EOF; open x: file does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var path *fs.PathError
	if !errors.Is(err, io.EOF) || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) {
		t.Error("errors.Is and errors.As do not look into it")
	}
}
