package hns_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// still answers at once, with what it was given: what is left is the client's
// own work.
func still(docs ...string) hns.Backend {
	var resp hns.Response
	for _, d := range docs {
		resp.Documents = append(resp.Documents, json.RawMessage(d))
	}
	return backend(func(hns.Request) (hns.Response, error) { return resp, nil })
}

// clientCalls are calls by what the client does in them.
var clientCalls = []struct {
	name string
	docs []string
	do   func(context.Context, *hns.Client) error
}{
	{"delete", nil, func(ctx context.Context, c *hns.Client) error { return c.Endpoints.Delete(ctx, podID) }},
	{"add to namespace", nil, func(ctx context.Context, c *hns.Client) error { return c.Namespaces.AddEndpoint(ctx, podNS, podID) }},
	{"get endpoint", []string{wholeEndpoint}, func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.ByID(ctx, podID); return err }},
	{"create endpoint", []string{wholeEndpoint}, func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.Create(ctx, pod()); return err }},
	{"create endpoint, least", []string{`{}`}, func(ctx context.Context, c *hns.Client) error {
		_, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake})
		return err
	}},
	{"list ten", []string{wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint, wholeEndpoint},
		func(ctx context.Context, c *hns.Client) error { _, err := c.Endpoints.List(ctx); return err }},
}

func BenchmarkClient(b *testing.B) {
	for _, call := range clientCalls {
		b.Run(call.name, func(b *testing.B) {
			c := hns.New(still(call.docs...), nil)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if err := call.do(ctx, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
