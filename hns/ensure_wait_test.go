package hns_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// The address comes a moment after the create, and the wait for it ended in
// silence (flannel-io/flannel#1066, flannel-io/flannel#1068).
func TestWaitForAddresses(t *testing.T) {
	waits := map[string]func(*hns.Client, context.Context, hns.ID) (string, error){
		"ManagementIP": func(c *hns.Client, ctx context.Context, id hns.ID) (string, error) {
			a, err := c.Networks.WaitManagementIP(ctx, id)
			return a.String(), err
		},
		"ProviderAddress": func(c *hns.Client, ctx context.Context, id hns.ID) (string, error) {
			a, err := c.Networks.WaitProviderAddress(ctx, id)
			return a.String(), err
		},
	}
	for field, wait := range waits {
		t.Run(field, func(t *testing.T) {
			n := newNode(t, &emulator.Options{AddressAfterReads: 3})
			moor, _, err := n.Networks.Ensure(t.Context(), wantMoor(5000), nil)
			n.must(err)
			n.h.Inject(emulator.Fault{Code: hns.CodeRPCUnavailable}) // it restarts meanwhile
			got, err := wait(n.Client, t.Context(), moor.ID)
			if err != nil || got != "192.0.2.10" {
				t.Errorf("got %s, %v", got, err)
			}

			never := newNode(t, &emulator.Options{AddressAfterReads: -1})
			moor, _, err = never.Networks.Ensure(t.Context(), wantMoor(5000), nil)
			never.must(err)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = wait(never.Client, ctx, moor.ID)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), moor.ID.String()) || !strings.Contains(err.Error(), field+" ") {
				t.Errorf("error %v", err)
			}

			_, err = wait(n.Client, t.Context(), podID)
			wantIs(t, err, hns.ErrNotFound)
		})
	}

	// 169.254.0.0/16 is what an adapter without DHCP answer has.
	docs := []string{`{"ManagementIP":"169.254.3.4"}`, `{"ManagementIP":"192.0.2.10"}`}
	c := hns.New(backend(func(r hns.Request) (hns.Response, error) {
		doc := docs[0]
		docs = docs[1:]
		return answering(doc).Do(r)
	}), nil)
	if a, err := c.Networks.WaitManagementIP(t.Context(), lake); err != nil || a != addr("192.0.2.10") {
		t.Errorf("got %s, %v", a, err)
	}
}
