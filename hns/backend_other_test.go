//go:build !windows

package hns_test

import (
	"testing"

	"github.com/hnskit/hnskit/hns"
)

func TestOpenWithoutHNS(t *testing.T) {
	c, err := hns.Open(nil)
	if c != nil || err == nil || err.Error() != "hns: open: HNS needs Windows" {
		t.Errorf("got %v, %v", c, err)
	}
	wantIs(t, err, hns.ErrUnsupportedOS)
	b, err := hns.Native()
	if b != nil || err == nil || err.Error() != "hns: open: HNS needs Windows" {
		t.Errorf("Native: got %v, %v", b, err)
	}
	wantIs(t, err, hns.ErrUnsupportedOS)
}
