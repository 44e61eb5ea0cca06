package delegate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// containernetworking/cni#204 and #306: DEL must work when subnet.env is gone.
// host-local needs a well-formed subnet and must not meet the rest of a range.
func TestRebuild(t *testing.T) {
	cfg := parse(t, `{"cniVersion":"1.0.0","name":"lake","delegate":{"name":"spoilt","apiVersion":2},"runtimeConfig":{"a":1},
		"ipam":{"dataDir":"/leases","rangeStart":"10.50.3.9","gateway":"10.50.3.1","routes":"spoilt","ranges":[],"foo":1}}`)
	out, err := delegate.Rebuild(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"cniVersion": "1.0.0", "name": "lake", "type": "win-bridge", "apiVersion": 2.0, "runtimeConfig": map[string]any{"a": 1.0},
		"ipam": map[string]any{"type": "host-local", "dataDir": "/leases", "subnet": "192.0.2.0/24", "foo": 1.0},
	}
	if diff := cmp.Diff(want, members(t, out)); diff != "" {
		t.Errorf("Rebuild (-want +got):\n%s", diff)
	}

	other, err := delegate.Rebuild(parse(t, `{"name":"lake","delegate":{},"ipam":{"type":"lease-server","pool":"x"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"type": "lease-server", "pool": "x"}, members(t, other)["ipam"]); diff != "" {
		t.Errorf("another IPAM plugin's members (-want +got):\n%s", diff)
	}
}

func TestRefresh(t *testing.T) {
	saved, err := delegate.Build(parse(t, `{"cniVersion":"0.3.1","name":"lake","delegate":{"x":1},"runtimeConfig":{"a":1,"b":1}}`), env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := parse(t, `{"cniVersion":"1.1.0","name":"lake","delegate":{"x":2},"runtimeConfig":{"b":2},"prevResult":{"ips":[]},"cni.dev/valid-attachments":[]}`)
	out, err := delegate.Refresh(saved, now)
	if err != nil {
		t.Fatal(err)
	}
	want := members(t, saved)
	want["cniVersion"] = "1.1.0"
	want["runtimeConfig"] = map[string]any{"a": 1.0, "b": 2.0}
	want["prevResult"] = map[string]any{"ips": []any{}}
	want["cni.dev/valid-attachments"] = []any{}
	if diff := cmp.Diff(want, members(t, out)); diff != "" {
		t.Errorf("Refresh (-want +got):\n%s", diff)
	}
	if _, err := delegate.Refresh([]byte("{"), now); !errors.Is(err, delegate.ErrBrokenScratch) {
		t.Errorf("Refresh of a torn file: %v, want ErrBrokenScratch", err)
	}
}

// Whatever Build accepts, the delegate gets: one JSON object with the node's
// subnet, the same each time, and DEL can be rebuilt from the same configuration.
func FuzzBuild(f *testing.F) {
	f.Fuzz(func(t *testing.T, conf, envText []byte) {
		cfg, err := delegate.Parse(conf)
		if err != nil {
			return
		}
		e, err := subnetenv.Parse(envText)
		if err != nil {
			e = env(withIPv6)
		}
		out, err := delegate.Build(cfg, e, nil)
		if err != nil {
			_, _ = delegate.Rebuild(cfg, nil) // it need not work, but must not panic
			return
		}
		again, err := delegate.Build(cfg, e, nil)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("first %s, then %s, %v", out, again, err)
		}
		var got struct {
			Name, Type, CNIVersion string
			IPMasq                 bool
			IPMasqNetwork          string
			IPAM                   struct{ Type, Subnet string }
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if got.Name != cfg.Name || got.Type == "" || got.CNIVersion == "" || got.IPAM.Type == "" {
			t.Fatalf("incomplete: %s", out)
		}
		if got.IPAM.Type == "host-local" && got.IPAM.Subnet != e.MaskedSubnet().String() {
			t.Fatalf("subnet %s, want %s", got.IPAM.Subnet, e.MaskedSubnet())
		}
		if !got.IPMasq && got.IPMasqNetwork != "" {
			t.Fatalf("NAT without ipMasq: %s", out)
		}
		if typ, err := delegate.PluginType(out); err != nil || typ != got.Type {
			t.Fatalf("PluginType %q, %v", typ, err)
		}
		if _, err := delegate.Rebuild(cfg, nil); err != nil {
			t.Fatalf("Rebuild: %v", err)
		}
		if _, err := delegate.Refresh(out, cfg); err != nil {
			t.Fatalf("Refresh: %v", err)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	conf, err := os.ReadFile("testdata/build/win-overlay-from-list.conf")
	if err != nil {
		b.Fatal(err)
	}
	e := env()
	b.ReportAllocs()
	for b.Loop() {
		cfg, err := delegate.Parse(conf)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := delegate.Build(cfg, e, nil); err != nil {
			b.Fatal(err)
		}
	}
}
